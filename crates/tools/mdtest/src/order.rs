//! Order in which a rank accesses its items.

use treering_script::Random;

use super::shape::ItemOrder;
use treering_kit::c_random::CRandom;

/// Items of a rank in the order of access; `None` for sequential order.
pub(super) fn order(order: ItemOrder, rank: u16, items: u64) -> Option<Vec<u64>> {
    match order {
        ItemOrder::Sequential => None,
        ItemOrder::Original(seed) => Some(as_original(seed.wrapping_add(rank.into()), items)),
        ItemOrder::Random(seed) => {
            let mut random = Random::for_part(seed, &format!("order of rank {rank}"));
            let mut items_in_order: Vec<u64> = (0..items).collect();
            random.shuffle(&mut items_in_order);
            Some(items_in_order)
        }
    }
}

fn as_original(seed: u32, items: u64) -> Vec<u64> {
    let mut random = CRandom::new(seed);
    let mut items_in_order: Vec<u64> = (0..items).collect();
    for last in (1..items_in_order.len()).rev() {
        let share = f64::from(random.draw()) / f64::from(i32::MAX);
        items_in_order.swap(cut(share * last as f64).min(last), last);
    }
    items_in_order
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is cut, as in C")]
fn cut(number: f64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::{ItemOrder, order};

    #[test]
    fn every_item_is_reached_once() {
        assert_eq!(order(ItemOrder::Sequential, 0, 10), None);
        for kind in [ItemOrder::Original(7), ItemOrder::Random(7)] {
            let mut items = order(kind, 3, 1000).unwrap();
            assert_ne!(items[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
            assert_ne!(Some(&items), order(kind, 4, 1000).as_ref());
            items.sort_unstable();
            assert!(items.iter().copied().eq(0..1000));
        }
    }
}
