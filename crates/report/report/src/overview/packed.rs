//! Compressed detail pages of an overview, unpacked on demand.
//!
//! A page is markup as produced by `formats::html`. Pages of one kind differ mainly in their texts,
//! so the markup around the texts is stored once, and each differing text is a column over the
//! pages. Columns are JSON, compressed and encoded in base64, so that no text of the store can
//! close the enclosing element. `overview.js` reassembles the pages.

use std::collections::HashMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

/// Attribute with the exact number by which a table is sorted.
const SORT_KEY: &str = " data-v=\"";
/// Attribute with the target of a link.
const LINK: &str = " href=\"";

/// A detail page with its name, such as `trial-0198c2f1`.
pub(super) struct DetailPage {
    pub(super) name: String,
    pub(super) markup: Markup,
}

impl DetailPage {
    /// Removes exact numbers for sorting, which over thousands of pages would make up most of the
    /// packed data.
    pub(super) fn without_sort_keys(self) -> Self {
        let mut parts = self.markup.0.split(SORT_KEY);
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            kept += part.split_once('"').map_or(part, |(_, tail)| tail);
        }
        Self { markup: PreEscaped(kept), ..self }
    }
}

/// Pages packed together.
pub(super) struct PagePack {
    names: Vec<String>,
    base64: String,
}

/// Pages whose markup is the same except for its texts.
#[derive(Serialize)]
struct PageGroup {
    /// Indices of the pages in the pack.
    pages: Vec<usize>,
    /// Markup around the texts, with one more piece than there are texts.
    markup: Vec<String>,
    texts: Vec<TextColumn>,
}

/// A text over all pages: one text common to all, or one for each page. The latter are joined by
/// newlines, unless a text contains newlines.
#[derive(Serialize)]
#[serde(untagged)]
enum TextColumn {
    Same(String),
    Lines([String; 1]),
    Each(Vec<String>),
}

impl PagePack {
    /// Packs the pages.
    pub(super) fn new(details: &[DetailPage]) -> Self {
        let pages: Vec<&str> = details.iter().map(|detail| detail.markup.0.as_str()).collect();
        let json = serde_json::to_vec(&alike(&pages)).expect("texts and numbers are JSON");
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        let written = deflated.write_all(&json).and_then(|()| deflated.finish());
        let bytes = written.expect("memory takes what is written");
        let names = details.iter().map(|detail| detail.name.clone()).collect();
        Self { names, base64: STANDARD.encode(bytes) }
    }

    /// HTML element that holds the pack.
    pub(super) fn element(&self) -> Markup {
        // Base64 characters have no meaning in HTML.
        html! {
            script type="application/octet-stream" data-names=(self.names.join(" ")) {
                (PreEscaped(&self.base64))
            }
        }
    }

    /// Approximate size of the element in bytes.
    pub(super) fn bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|name| name.len() + 1).sum();
        self.base64.len() + names + 70
    }
}

/// Index of a page in the pack, with its texts.
type PageTexts<'p> = (usize, Vec<&'p str>);

fn alike(pages: &[&str]) -> Vec<PageGroup> {
    let mut groups: Vec<(Vec<&str>, Vec<PageTexts<'_>>)> = Vec::new();
    let mut known: HashMap<Vec<&str>, usize> = HashMap::new();
    for (place, page) in pages.iter().enumerate() {
        let (markup, texts) = split(page);
        let at = *known.entry(markup.clone()).or_insert_with(|| {
            groups.push((markup, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push((place, texts));
    }
    let group = |(markup, members): (Vec<&str>, Vec<PageTexts<'_>>)| PageGroup {
        pages: members.iter().map(|(place, _)| *place).collect(),
        texts: (1..markup.len()).map(|end| of_all(&members, end - 1)).collect(),
        markup: markup.into_iter().map(str::to_owned).collect(),
    };
    groups.into_iter().map(group).collect()
}

fn of_all(members: &[PageTexts<'_>], column: usize) -> TextColumn {
    let each: Vec<&str> = members.iter().map(|(_, texts)| texts[column]).collect();
    match each.as_slice() {
        [first, tail @ ..] if tail.iter().all(|text| text == first) => {
            TextColumn::Same((*first).to_owned())
        }
        each if each.iter().any(|text| text.contains('\n')) => {
            TextColumn::Each(each.iter().map(|text| (*text).to_owned()).collect())
        }
        each => TextColumn::Lines([each.join("\n")]),
    }
}

/// Splits a page into alternating markup and texts; the first and last piece are markup. Link
/// targets count as texts. Inside tags `<` and `>` are escaped, so tags can be found by scanning.
fn split(page: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut markup, mut texts) = (Vec::new(), Vec::new());
    let (mut piece, mut at) = (0, 0);
    let mut text = |from: usize, to: usize| {
        if from < to {
            markup.push(&page[piece..from]);
            texts.push(&page[from..to]);
            piece = to;
        }
    };
    while let Some(open) = page[at..].find('<').map(|place| at + place) {
        text(at, open);
        at = page[open..].find('>').map_or(page.len(), |place| open + place + 1);
        if let Some(link) = page[open..at].find(LINK).map(|place| open + place + LINK.len()) {
            let end = page[link..at].find('"').map_or(at, |place| link + place);
            text(link, end);
        }
    }
    text(at, page.len());
    markup.push(&page[piece..]);
    (markup, texts)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use flate2::read::DeflateDecoder;
    use maud::{Markup, html};
    use serde_json::Value;

    use super::{DetailPage, PagePack, split};

    /// Unpacks the pages as the script does.
    fn unpacked(packed: &PagePack) -> Vec<String> {
        let bytes = STANDARD.decode(&packed.base64).unwrap();
        let mut json = String::new();
        DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
        let groups: Value = serde_json::from_str(&json).unwrap();
        let mut pages = vec![String::new(); packed.names.len()];
        for group in groups.as_array().unwrap() {
            for (row, page) in group["pages"].as_array().unwrap().iter().enumerate() {
                let page = usize::try_from(page.as_u64().unwrap()).unwrap();
                let page = &mut pages[page];
                for (at, piece) in group["markup"].as_array().unwrap().iter().enumerate() {
                    *page += piece.as_str().unwrap();
                    let text = &group["texts"][at];
                    let each = |list: &Vec<Value>| match list.as_slice() {
                        [lines] => lines.as_str().unwrap().split('\n').nth(row).unwrap().to_owned(),
                        list => list[row].as_str().unwrap().to_owned(),
                    };
                    *page += &text
                        .as_array()
                        .map_or_else(|| text.as_str().unwrap_or_default().to_owned(), each);
                }
            }
        }
        pages
    }

    fn detail(name: &str, markup: Markup) -> DetailPage {
        DetailPage { name: name.to_owned(), markup }
    }

    #[test]
    fn packed_pages_round_trip() {
        let hostile = "</script><img src=x onerror=alert(1)>\"'& data-v=\"7\"";
        let markups = [
            html! { p title=(hostile) { (hostile) } b { "1" } },
            html! { p title=(hostile) { "other" } b { "2" } },
            html! { "bare" },
            html! { p { "one" } },
            html! { p { "two\nlines" } },
        ];
        let details: Vec<DetailPage> =
            markups.iter().map(|markup| detail("a", markup.clone())).collect();
        let packed = PagePack::new(&details);
        let wanted: Vec<String> = markups.into_iter().map(|markup| markup.0).collect();
        assert_eq!(unpacked(&packed), wanted);
        let element = packed.element().into_string();
        assert_eq!(element.matches("</script>").count(), 1, "{element}");
    }

    #[test]
    fn similar_pages_share_their_common_markup() {
        let page = |number: u32| html! { table { tr { th { "a long heading" } td { (number) } } } };
        let details: Vec<DetailPage> =
            (0..500).map(|number| detail(&format!("trial-{number}"), page(number))).collect();
        let packed = PagePack::new(&details);
        assert!(packed.base64.len() < 500 * 6, "{}", packed.base64.len());
    }

    #[test]
    fn exact_numbers_are_left_out_and_texts_that_look_like_them_stay() {
        let markup = html! { td data-v="1.23456789" class="r" { " data-v=\"7\"" } };
        let light = detail("a", markup).without_sort_keys().markup.0;
        assert_eq!(light, "<td class=\"r\"> data-v=&quot;7&quot;</td>");
    }

    #[test]
    fn markup_and_texts_take_turns() {
        assert_eq!(split("<p>a<b></b>c"), (vec!["<p>", "<b></b>", ""], vec!["a", "c"]));
        assert_eq!(split(""), (vec![""], Vec::new()));
        let (markup, texts) = split("<a class=\"x\" href=\"#trial-1\">1</a>");
        assert_eq!(markup, ["<a class=\"x\" href=\"", "\">", "</a>"]);
        assert_eq!(texts, ["#trial-1", "1"]);
    }
}
