//! Layers of a variant: block layers between its device and its filesystem, and overlays above the
//! filesystem.

use std::ops::Range;

use treering_lab::filesystems;
use treering_model::nearest::suggestion;
use treering_model::{
    ArrayLayer, CacheLayer, CryptLayer, DeviceSpec, Layer, LoopLayer, OverlayLayer, SnapshotLayer,
    ThinLayer,
};

use crate::plan::document::format::{
    ArrayTable, CacheTable, CryptTable, LayerForm, LayerTable, LoopTable, OverlayTable,
    SnapshotTable, ThinTable, VariantTable,
};
use crate::plan::document::tree::{Optional, Placed};
use crate::plan::document::values::WholeNumber;
use crate::plan::document::words;
use crate::plan::error::{Fault, quoted};

/// Names of all layers.
const NAMES: [&str; 8] = ["loop", "crypt", "linear", "thin", "snapshot", "md", "bcache", "overlay"];
/// Maximum number of layers of a variant.
const LAYERS_MAX: usize = 8;

/// Layers of a variant, from the device upwards.
pub(in crate::plan::document) fn layers(
    section: &VariantTable,
    (device, mut devices): (&DeviceSpec, usize),
) -> Result<Vec<Layer>, Fault> {
    let Some(key) = &section.layers else { return Ok(Vec::new()) };
    if matches!(device, DeviceSpec::Directory { .. }) {
        let message = "`layers` are built on a device, and the variant is a directory";
        return Err(key.key_fault(message, "").hint("give the variant a device"));
    }
    if let Some(image) = &section.image {
        let message = "a saved image is restored to a device without layers";
        return Err(key.key_fault(message, "").also(image.span.clone(), "the image"));
    }
    let forms = key.0.elements(&key.span);
    if forms.len() > LAYERS_MAX {
        let message = format!("a variant has at most {LAYERS_MAX} layers");
        return Err(key.fault(message, ""));
    }
    let mut layers: Vec<Layer> = Vec::new();
    for (span, form) in forms {
        if layers.last().is_some_and(Layer::is_above_filesystem) {
            let message = "an overlay is above the filesystem: nothing is built on it";
            return Err(Fault::at(span.clone(), message, "").hint("write the overlay last"));
        }
        let layer = layer(&Placed { span: span.clone(), value: form })?;
        if let Layer::Loop(LoopLayer { on, .. }) = &layer
            && filesystems::find(on).is_some_and(|it| it.devices_max() < devices)
        {
            let message = format!("{on} is made on a single device, not on {devices}");
            return Err(Fault::at(span.clone(), message, ""));
        }
        if let Layer::Md(array) = &layer {
            disks_fit(array, devices, span)?;
        }
        if matches!(layer, Layer::Bcache(_)) && devices > 2 {
            let message = format!("a cache is in front of one device, not of {}", devices - 1);
            let hint = "give it two devices, the second of which is the cache, or a single one";
            return Err(Fault::at(span.clone(), message, "").hint(hint));
        }
        devices = layer.devices_above(devices);
        layers.push(layer);
    }
    Ok(layers)
}

/// Refuses an array whose number of disks differs from that of the device, or is too small.
fn disks_fit(array: &ArrayLayer, devices: usize, span: &Range<usize>) -> Result<(), Fault> {
    let (level, disks_min) = (array.level, usize::from(array.disks_min()));
    if let Some(disks) = array.disks
        && devices > 1
        && usize::from(disks) != devices
    {
        let message = format!("an array of {disks} disks is asked for, on {devices} devices");
        let hint =
            "leave `disks` out: the array has all devices; a single device is cut into parts";
        return Err(Fault::at(span.clone(), message, "").hint(hint));
    }
    if array.disk_count(devices) < disks_min {
        let message = format!("RAID {level} needs {disks_min} disks or more");
        let hint = format!("write `disks = {disks_min}`, or give the device a `count`");
        return Err(Fault::at(span.clone(), message, "").hint(hint));
    }
    Ok(())
}

fn layer(form: &Placed<&LayerForm>) -> Result<Layer, Fault> {
    match form.value {
        LayerForm::String(name) => match name.as_str() {
            "crypt" => Ok(Layer::Crypt(CryptLayer::default())),
            "linear" => Ok(Layer::Linear),
            "thin" => Ok(Layer::Thin(ThinLayer::default())),
            "snapshot" => Ok(Layer::Snapshot(SnapshotLayer::default())),
            "bcache" => Ok(Layer::Bcache(CacheLayer::default())),
            "overlay" => Ok(Layer::Overlay(OverlayLayer::default())),
            "loop" => {
                let message = "a loop layer needs the filesystem that holds its file";
                Err(form.fault(message, "").hint("write { loop = { on = \"xfs\" } }"))
            }
            "md" => {
                Err(form.fault("an array needs its level", "").hint("write { md = { level = 5 } }"))
            }
            "luks" => {
                let message = "there is no layer `luks`: its header costs nothing once it is open";
                Err(form.fault(message, "").hint(
                    "write \"crypt\": the data go through the same dm-crypt; or run `cryptsetup \
                     luksFormat` and `cryptsetup open` yourself, and give the variant \
                     device = { block = \"/dev/mapper/NAME\" }",
                ))
            }
            name => Err(form
                .fault(format!("unknown layer {}", quoted(name)), "")
                .hint(suggestion(name, &NAMES, "layers"))),
        },
        LayerForm::Table(table) => of_table(form, table),
    }
}

fn of_table(form: &Placed<&LayerForm>, table: &LayerTable) -> Result<Layer, Fault> {
    let LayerTable { r#loop, crypt, thin, snapshot, md, bcache, overlay } = table;
    let given = [
        r#loop.as_ref().map(|it| of_loop(it)),
        crypt.as_ref().map(|it| of_crypt(it)),
        thin.as_ref().map(|it| of_thin(it)),
        snapshot.as_ref().map(|it| of_snapshot(it)),
        md.as_ref().map(|it| of_array(it)),
        bcache.as_ref().map(|it| of_cache(it)),
        overlay.as_ref().map(|it| of_overlay(it)),
    ];
    let mut layers = given.into_iter().flatten();
    match (layers.next(), layers.next()) {
        (Some(layer), None) => layer,
        _ => {
            let hint = format!("a table has one of: {}", NAMES.join(", "));
            Err(form.fault("a layer has exactly one kind", "").hint(hint))
        }
    }
}

fn of_overlay(overlay: &Placed<OverlayTable>) -> Result<Layer, Fault> {
    let mount = overlay.mount.as_ref().map_or(Ok(Vec::new()), words::mount)?;
    Ok(Layer::Overlay(OverlayLayer { mount }))
}

fn of_array(array: &Placed<ArrayTable>) -> Result<Layer, Fault> {
    let Some(level) = &array.level else {
        let message = "an array needs its level";
        return Err(array.fault(message, "").hint("write { md = { level = 5 } }"));
    };
    let levels = ArrayLayer::LEVELS;
    let mut layer = ArrayLayer::new(level.small());
    if !levels.contains(&layer.level) {
        let listed = levels.map(|level| level.to_string()).join(", ");
        let message = format!("no array of level {} is made", layer.level);
        return Err(level.fault(message, format!("write one of: {listed}")));
    }
    layer.disks = array.disks.as_ref().map(|disks| disks.small());
    if let Some(chunk) = &array.chunk_bytes {
        if layer.level == 1 {
            return Err(chunk.key_fault("RAID 1 has no chunks", "leave this out"));
        }
        if !chunk.0.is_power_of_two() {
            return Err(chunk.fault("a chunk of an array is a power of two", ""));
        }
        layer.chunk_bytes = chunk.0;
    }
    let of_parity =
        [array.stripe_cache.as_ref().map(|it| &it.span), array.threads.as_ref().map(|it| &it.span)];
    if let Some(span) = of_parity.into_iter().flatten().next().filter(|_| !layer.has_parity()) {
        let message = format!("RAID {} has no stripes with parity", layer.level);
        return Err(Fault::at(span.clone(), message, "only for the levels 5 and 6"));
    }
    layer.stripe_cache = array.stripe_cache.as_ref().map(|pages| pages.small());
    layer.threads = array.threads.as_ref().map(|threads| threads.small());
    Ok(Layer::Md(layer))
}

fn of_cache(cache: &Placed<CacheTable>) -> Result<Layer, Fault> {
    let mut layer = CacheLayer::default();
    if let Some(mode) = &cache.mode {
        if !CacheLayer::MODES.contains(&mode.text()) {
            return Err(mode
                .fault(format!("unknown cache mode {}", quoted(mode)), "")
                .hint(suggestion(mode, &CacheLayer::MODES, "modes")));
        }
        mode.text().clone_into(&mut layer.mode);
    }
    if let Some(bucket) = &cache.bucket_bytes {
        if !bucket.0.is_power_of_two() {
            return Err(bucket.fault("a bucket of a cache is a power of two", ""));
        }
        layer.bucket_bytes = bucket.0;
    }
    layer.cache_percent =
        cache.cache_percent.value().map_or(layer.cache_percent, WholeNumber::small);
    layer.sequential_cutoff = cache.sequential_cutoff.as_ref().map(|bytes| bytes.0);
    Ok(Layer::Bcache(layer))
}

fn of_crypt(crypt: &Placed<CryptTable>) -> Result<Layer, Fault> {
    let default = CryptLayer::default();
    if let Some(cipher) = &crypt.cipher
        && (cipher.contains(char::is_whitespace) || cipher.matches('-').count() < 2)
    {
        let message = format!("{} is no cipher with its mode and its IV", quoted(cipher));
        return Err(cipher.fault(message, "").hint("write for example \"aes-xts-plain64\""));
    }
    let key_bits = crypt.key_bits.value().map_or(default.key_bits, WholeNumber::small);
    if let Some(key) = crypt.key_bits.as_ref().filter(|_| key_bits % 8 != 0) {
        return Err(key.fault("a key has whole bytes", "write a multiple of 8"));
    }
    let sector_bytes: u32 =
        crypt.sector_bytes.value().map_or(default.sector_bytes, WholeNumber::small);
    if let Some(sector) = crypt.sector_bytes.as_ref().filter(|_| !sector_bytes.is_power_of_two()) {
        let label = "write 512, 1024, 2048 or 4096";
        return Err(sector.fault("a unit of encryption is a power of two", label));
    }
    // Same order as `CryptLayer::FLAGS`.
    let flag_values = [
        crypt.no_read_workqueue.value(),
        crypt.no_write_workqueue.value(),
        crypt.same_cpu_crypt.value(),
        crypt.submit_from_crypt_cpus.value(),
        crypt.allow_discards.value(),
    ];
    let flags = CryptLayer::FLAGS.iter().zip(flag_values).filter(|(_, is_on)| *is_on == Some(true));
    Ok(Layer::Crypt(CryptLayer {
        cipher: crypt.cipher.as_ref().map_or(default.cipher, |cipher| cipher.text().to_owned()),
        key_bits,
        sector_bytes,
        flags: flags.map(|(name, _)| (*name).to_owned()).collect(),
    }))
}

fn of_thin(thin: &Placed<ThinTable>) -> Result<Layer, Fault> {
    let Some(block) = &thin.block_bytes else { return Ok(Layer::Thin(ThinLayer::default())) };
    if block.0 % ThinLayer::default().block_bytes != 0 {
        return Err(block.fault("a block of a thin pool is a multiple of 65536 bytes", ""));
    }
    Ok(Layer::Thin(ThinLayer { block_bytes: block.0 }))
}

fn of_snapshot(snapshot: &Placed<SnapshotTable>) -> Result<Layer, Fault> {
    let Some(chunk) = &snapshot.chunk_bytes else {
        return Ok(Layer::Snapshot(SnapshotLayer::default()));
    };
    if !chunk.0.is_power_of_two() {
        return Err(chunk.fault("a chunk of a snapshot is a power of two", ""));
    }
    Ok(Layer::Snapshot(SnapshotLayer { chunk_bytes: chunk.0 }))
}

fn of_loop(file: &Placed<LoopTable>) -> Result<Layer, Fault> {
    let names = filesystems::names();
    let Some(on) = &file.on else {
        let message = "a loop layer needs the filesystem that holds its file";
        return Err(file.fault(message, "").hint("write { loop = { on = \"xfs\" } }"));
    };
    if filesystems::find(on).is_none_or(|filesystem| filesystem.mkfs().is_none()) {
        let message = format!("{} is no filesystem for the file of a loop device", quoted(on));
        return Err(on.fault(message, "").hint(suggestion(on, &names, "filesystems")));
    }
    Ok(Layer::Loop(LoopLayer {
        on: on.to_string(),
        mkfs: file.mkfs.as_ref().map_or(Ok(Vec::new()), words::of_command)?,
        mount: file.mount.as_ref().map_or(Ok(Vec::new()), words::mount)?,
        bytes: file.size.as_ref().map(|size| size.0),
        sparse: file.sparse.value().unwrap_or(false),
        direct_io: file.direct_io.value().unwrap_or(true),
    }))
}
