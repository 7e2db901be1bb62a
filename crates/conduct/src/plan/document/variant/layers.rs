//! Layers of a variant: what stands between its device and its filesystem, or above that.

use treering_lab::filesystems;
use treering_model::nearest::suggestion;
use treering_model::{
    CryptLayer, DeviceSpec, Layer, LoopLayer, OverlayLayer, SnapshotLayer, ThinLayer,
};

use crate::plan::document::format::{
    CryptTable, LayerForm, LayerTable, LoopTable, SnapshotTable, ThinTable, VariantTable,
};
use crate::plan::document::tree::{Optional, Placed};
use crate::plan::document::values::Whole;
use crate::plan::document::words;
use crate::plan::error::{Fault, quoted};

/// Names of all layers.
const NAMES: [&str; 6] = ["loop", "crypt", "linear", "thin", "snapshot", "overlay"];
/// Largest number of layers of a variant.
const LAYERS_MAX: usize = 8;

/// Layers of the variant of a section, from the device upwards.
pub(in crate::plan::document) fn layers(
    section: &VariantTable,
    device: &DeviceSpec,
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
    let mut devices = device.count();
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
        devices = layer.devices_above(devices);
        layers.push(layer);
    }
    Ok(layers)
}

fn layer(form: &Placed<&LayerForm>) -> Result<Layer, Fault> {
    match form.value {
        LayerForm::String(name) => match name.as_str() {
            "crypt" => Ok(Layer::Crypt(CryptLayer::default())),
            "linear" => Ok(Layer::Linear),
            "thin" => Ok(Layer::Thin(ThinLayer::default())),
            "snapshot" => Ok(Layer::Snapshot(SnapshotLayer::default())),
            "overlay" => Ok(Layer::Overlay(OverlayLayer::default())),
            "loop" => {
                let message = "a loop layer needs the filesystem that holds its file";
                Err(form.fault(message, "").hint("write { loop = { on = \"xfs\" } }"))
            }
            name => Err(form
                .fault(format!("unknown layer {}", quoted(name)), "")
                .hint(suggestion(name, &NAMES, "layers"))),
        },
        LayerForm::Table(table) => of_table(form, table),
    }
}

fn of_table(form: &Placed<&LayerForm>, table: &LayerTable) -> Result<Layer, Fault> {
    let LayerTable { r#loop, crypt, thin, snapshot, overlay } = table;
    match (r#loop, crypt, thin, snapshot, overlay) {
        (Some(file), None, None, None, None) => of_loop(file),
        (None, Some(crypt), None, None, None) => of_crypt(crypt),
        (None, None, Some(thin), None, None) => of_thin(thin),
        (None, None, None, Some(snapshot), None) => of_snapshot(snapshot),
        (None, None, None, None, Some(overlay)) => {
            let mount = overlay.mount.as_ref().map_or(Ok(Vec::new()), words::mount)?;
            Ok(Layer::Overlay(OverlayLayer { mount }))
        }
        _ => {
            let hint = format!("a table has one of: {}", NAMES.join(", "));
            Err(form.fault("a layer has exactly one kind", "").hint(hint))
        }
    }
}

fn of_crypt(crypt: &Placed<CryptTable>) -> Result<Layer, Fault> {
    let default = CryptLayer::default();
    if let Some(cipher) = &crypt.cipher
        && (cipher.contains(char::is_whitespace) || cipher.matches('-').count() < 2)
    {
        let message = format!("{} is no cipher with its mode and its IV", quoted(cipher));
        return Err(cipher.fault(message, "").hint("write for example \"aes-xts-plain64\""));
    }
    let key_bits = crypt.key_bits.value().map_or(default.key_bits, Whole::small);
    if let Some(key) = crypt.key_bits.as_ref().filter(|_| key_bits % 8 != 0) {
        return Err(key.fault("a key has whole bytes", "write a multiple of 8"));
    }
    let sector_bytes: u32 = crypt.sector_bytes.value().map_or(default.sector_bytes, Whole::small);
    if let Some(sector) = crypt.sector_bytes.as_ref().filter(|_| !sector_bytes.is_power_of_two()) {
        let label = "write 512, 1024, 2048 or 4096";
        return Err(sector.fault("a unit of encryption is a power of two", label));
    }
    // In the order of their names in the model.
    let given = [
        crypt.no_read_workqueue.value(),
        crypt.no_write_workqueue.value(),
        crypt.same_cpu_crypt.value(),
        crypt.submit_from_crypt_cpus.value(),
        crypt.allow_discards.value(),
    ];
    let flags = CryptLayer::FLAGS.iter().zip(given).filter(|(_, is_on)| *is_on == Some(true));
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
