//! `treering image` and `treering age --save`: saved filesystems are restored, damaged images are
//! refused, and failed saves leave no files.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{ImageRecord, Trial};
use treering_store::{Access, Filter, LoadDetail, Store};
use treering_testkit::{
    BlockDevice, LoopFs, Program, require_loop_fs, require_root, temp_dir, temp_dir_in, tree_of,
};

use crate::program;
use crate::trial::last;

const MIB: u64 = 400;

/// Ages a filesystem with few files and saves it.
fn saved(program: &Program, kind: &str, name: &str) -> LoopFs {
    let mounted = LoopFs::new(kind, MIB);
    let dir = mounted.path().join("aged");
    fs::create_dir(&dir).unwrap();
    let words = ["age", dir.to_str().unwrap(), "-p", "mail", "--live", "10M", "--quiet"];
    let more_words = ["--until", "operations=300", "--save", name];
    program.run(words.iter().chain(&more_words)).ends_with(0);
    mounted
}

fn image(program: &Program, name: &str) -> PathBuf {
    program.data().join("images").join(name)
}

/// Names of the entries in the image directory.
fn left(program: &Program) -> Vec<String> {
    let entries = fs::read_dir(program.data().join("images")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Writes a plan whose trials start from an image.
fn plan(program: &Program, kind: &str, image: &str, mebibytes: u64) -> String {
    let path = program.home().join(format!("{kind}-{mebibytes}.toml"));
    let text = format!(
        "name = \"old\"\nrounds = 2\nwarm-up = false\n\
         [device]\nloop = \"{mebibytes}MiB\"\nsparse = true\ndirect-io = false\n\
         [[variant]]\nname = \"old\"\nfilesystem = \"{kind}\"\nimage = \"{image}\"\n\
         [[job]]\ncommand = \"test -d ../aged/age-0 && ls -R .. > /dev/null\"\n"
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn trials(store: &Path) -> Vec<Trial> {
    let store = Store::open(store, Access::ReadOnly).unwrap();
    let ids: Vec<_> =
        store.trials(&Filter::default()).unwrap().iter().map(|one| one.trial).collect();
    store.load_many(&ids, LoadDetail::Tasks).unwrap()
}

#[test]
fn every_trial_of_a_plan_starts_from_the_saved_image() {
    require_root!();
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let program = program();
        let mounted = saved(&program, kind, "old");
        // The filesystem is mounted again, with the same files.
        assert!(mounted.path().join("aged/age-0").is_dir(), "{kind}");
        let aged = last(&program);
        let shown = program.run(["image", "show", "old"]).ends_with(0).stdout;
        for wanted in [kind, aged.fact("age.fingerprint").unwrap(), "operations=300", "mail"] {
            assert!(shown.contains(wanted), "{kind}: {wanted}: {shown}");
        }
        program.run(["image", "verify"]).ends_with(0);
        // The restored file contains the same tree.
        let file = program.home().join("restored");
        let file = file.to_str().unwrap();
        program.run(["image", "restore", "old", "--to", file]).ends_with(0);
        program.run(["image", "restore", "old", "--to", file]).ends_with(3).complains("exists");
        let files = tree_of(mounted.path()).len();
        // A second btrfs with the same UUID is sometimes refused (EEXIST) while others are mounted
        // or unmounted.
        let _mounted = (kind != "btrfs").then_some(mounted);
        let looked = program.run(["layout", file, "--format", "json"]).ends_with(0).stdout;
        assert!(looked.contains(&format!("\"files\":{files},")), "{kind}: {files}: {looked}");
        let results = temp_dir_in(Path::new("/dev/shm"));
        let store = results.path().join("results.treering");
        let plan = plan(&program, kind, "old", MIB);
        let words = ["compare", &plan, "--store", store.to_str().unwrap(), "--quiet"];
        program.run(words).ends_with(0);
        let kept = trials(&store);
        assert_eq!(kept.len(), 2);
        for trial in &kept {
            assert_eq!(trial.ending, treering_model::Ending::Completed, "{kind}");
            assert_eq!(trial.fact("image.name"), Some("old"));
            assert_eq!(trial.fact("image.fingerprint").unwrap().len(), 32);
            assert_eq!(trial.fact("image.fingerprint"), kept[0].fact("image.fingerprint"));
        }
        program.run(["image", "remove", "old"]).ends_with(0);
        assert_eq!(left(&program), Vec::<String>::new());
    }
}

#[test]
fn a_damaged_image_is_refused() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    drop(saved(&program, "ext4", "good"));
    let good = image(&program, "good");
    let copy = |name: &str, change: &dyn Fn(&Path)| {
        let folder = image(&program, name);
        fs::create_dir(&folder).unwrap();
        for file in ["image.json", "content.zst"] {
            fs::copy(good.join(file), folder.join(file)).unwrap();
        }
        let record = folder.join("image.json");
        let text = fs::read_to_string(&record).unwrap();
        fs::write(&record, text.replace("\"good\"", &format!("\"{name}\""))).unwrap();
        change(&folder);
    };
    let in_record = |folder: &Path, from: &str, to: &str| {
        let record = folder.join("image.json");
        let text = fs::read_to_string(&record).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&record, text.replacen(from, to, 1)).unwrap();
    };
    // As a record of an older version, which has no fingerprint of its own.
    let in_older_record = |folder: &Path, from: &str, to: &str| {
        let record = folder.join("image.json");
        let text = fs::read_to_string(&record).unwrap();
        let is_print = |line: &&str| line.contains("record_fingerprint");
        let print = text.lines().find(is_print).unwrap();
        fs::write(&record, text.replace(print, "\"record_fingerprint\": \"\"")).unwrap();
        in_record(folder, from, to);
    };
    copy("same", &|_| {});
    copy("flipped", &|folder| {
        let file = fs::File::options().read(true).write(true).open(folder.join("content.zst"));
        let (file, mut byte) = (file.unwrap(), [0]);
        let middle = file.metadata().unwrap().len() / 2;
        file.read_exact_at(&mut byte, middle).unwrap();
        file.write_all_at(&[byte[0] ^ 1], middle).unwrap();
    });
    copy("cut", &|folder| {
        let file = fs::File::options().write(true).open(folder.join("content.zst")).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    });
    copy("other-name", &|folder| in_record(folder, "\"other-name\"", "\"good\""));
    copy("later", &|folder| in_record(folder, "\"version\": 1", "\"version\": 2"));
    copy("odd", &|folder| in_older_record(folder, "\"ext4\"", "\"paper\""));
    copy("text", &|folder| fs::write(folder.join("image.json"), "no JSON").unwrap());
    copy("pipe", &|folder| {
        fs::remove_file(folder.join("content.zst")).unwrap();
        let outcome = Command::new("mkfifo").arg(folder.join("content.zst")).status().unwrap();
        assert!(outcome.success());
    });
    copy("bare", &|folder| fs::remove_file(folder.join("content.zst")).unwrap());
    copy("another-recipe", &|folder| in_record(folder, "operations=300", "operations=301"));
    program.run(["image", "verify", "same", "good"]).ends_with(0);
    let file = program.home().join("restored");
    for (name, words) in [
        ("flipped", "`flipped` cannot be used"),
        ("cut", "bytes, "),
        ("other-name", "it was saved as 'good'"),
        ("later", "it has version 2"),
        ("odd", "its filesystem is unknown"),
        ("text", "image.json"),
        ("another-recipe", "image.json is not what was saved"),
        ("pipe", "content.zst"),
        ("bare", "content.zst"),
    ] {
        let words_of = ["image", "restore", name, "--to", file.to_str().unwrap()];
        program.run(words_of).ends_with(3).complains(words);
        assert!(!file.exists(), "{name}");
        program.run(["image", "verify", name]).ends_with(3).complains(words);
    }
    let listed = program.run(["image", "list"]).ends_with(0).stdout;
    assert!(listed.contains("it has version 2"), "{listed}");
    // A layout that differs from the saved one means another filesystem, whatever its content.
    copy("elsewhere", &|folder| {
        in_older_record(folder, "\"placed_files\": ", "\"placed_files\": 1");
    });
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("results.treering");
    let store = store.to_str().unwrap();
    let refused = |kind: &str, image: &str, mebibytes, words: &str, code| {
        let plan = plan(&program, kind, image, mebibytes);
        let ran = program.run(["compare", &plan, "--store", store, "--quiet"]);
        assert!(ran.stderr.contains(words), "{image}: {}", ran.stderr);
        ran.ends_with(code);
    };
    refused("ext4", "none", MIB, "no saved image 'none'", 2);
    refused("ext4", "../good", MIB, "is not a name", 3);
    refused("ext4", "good", MIB + 1, "needs a device of", 3);
    refused("ext2", "good", MIB, "is ext4, not ext2", 3);
    refused("ext4", "elsewhere", MIB, "its layout is another than at saving", 3);
}

#[test]
fn an_image_is_restored_to_a_device_named_for_erasing() {
    require_root!();
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let program = program();
        drop(saved(&program, kind, "old"));
        let place = temp_dir();
        let file = place.path().join("disk");
        // The file has no zeros, up to the last byte, and is larger than the image.
        fs::write(&file, vec![0xa5; usize::try_from((MIB + 8) << 20).unwrap()]).unwrap();
        let before = fs::read(&file).unwrap();
        let device = BlockDevice::on(&file);
        let path = program.home().join("plan.toml");
        let text = |image: &str| {
            format!(
                "name = \"old\"\nrounds = 2\nwarm-up = false\n[device]\nblock = \"{}\"\n\
                 [[variant]]\nname = \"old\"\nfilesystem = \"{kind}\"\nimage = \"{image}\"\n\
                 [[job]]\ncommand = \"test -d ../aged/age-0 && rm -r ../aged\"\n",
                device.path()
            )
        };
        fs::write(&path, text("old")).unwrap();
        let results = temp_dir_in(Path::new("/dev/shm"));
        let store = results.path().join("results.treering");
        let plan = path.to_str().unwrap();
        let words = ["compare", plan, "--store", store.to_str().unwrap(), "--quiet"];
        let erase = ["--erase", device.path()];
        let erasing = words.iter().chain(&erase);
        // If the device is not named, or the image does not exist, nothing is touched.
        program.run(words).ends_with(3).complains("--erase");
        fs::write(&path, text("none")).unwrap();
        program.run(erasing.clone()).ends_with(2).complains("no saved image 'none'");
        assert!(fs::read(&file).unwrap() == before, "{kind}");
        fs::write(&path, text("old")).unwrap();
        program.run(erasing).ends_with(0);
        let kept = trials(&store);
        assert_eq!(kept.len(), 2);
        for trial in &kept {
            // The second trial finds files that the first one removed.
            assert_eq!(trial.ending, treering_model::Ending::Completed, "{kind}");
            assert_eq!(trial.fact("image.name"), Some("old"));
            assert_eq!(trial.fact("image.fingerprint"), kept[0].fact("image.fingerprint"));
        }
    }
}

#[test]
fn a_failed_save_leaves_no_files_and_a_mounted_filesystem() {
    require_root!();
    require_loop_fs!("ext4");
    let small = LoopFs::in_memory(2);
    let mounted = LoopFs::new("ext4", MIB);
    let dir = mounted.path().join("aged");
    fs::create_dir(&dir).unwrap();
    let mut noise = vec![0u8; 8 << 20];
    let mut state = 1u64;
    for byte in &mut noise {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
    fs::write(dir.join("noise"), &noise).unwrap();
    let target = dir.to_str().unwrap();
    // The filesystem of the images is full.
    let full = program().with_data(small.path());
    full.run(["image", "save", "old", target]).ends_with(3).complains("No space left");
    assert_eq!(left(&full), Vec::<String>::new());
    assert_eq!(fs::read(dir.join("noise")).unwrap(), noise);
    // The images would be on the filesystem itself.
    let inside = program().with_data(mounted.path().join("data"));
    inside.run(["image", "save", "old", target]).ends_with(3).complains("which is on");
    // A process has a file open on the filesystem.
    let program = program();
    let open = fs::File::open(dir.join("noise")).unwrap();
    program.run(["image", "save", "old", target]).ends_with(3).complains("is in use");
    assert_eq!(left(&program), Vec::<String>::new());
    drop(open);
    for name in ["", "..", "a/b", "-x", "a b"] {
        program.run(["image", "save", "--", name, target]).ends_with(3).complains("not a name");
    }
    program.run(["image", "save", "old", target]).ends_with(0);
    program.run(["image", "save", "old", target]).ends_with(3).complains("already");
    assert_eq!(fs::read(dir.join("noise")).unwrap(), noise);
    let words = ["age", target, "--until", "operations=5", "--save", "old"];
    program.run(words).ends_with(3).complains("already");
    assert!(!dir.join("age-0").exists());
    program.run(["image", "save", "new", temp_dir().path().to_str().unwrap()]).ends_with(3);
}

#[test]
fn equal_recipes_have_one_key_whatever_mkfs_drew() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let keys = ["one", "two"].map(|name| {
        drop(saved(&program, "ext4", name));
        let text = fs::read_to_string(image(&program, name).join("image.json")).unwrap();
        let record: ImageRecord = serde_json::from_str(&text).unwrap();
        let mkfs = record.made_with("mkfs").unwrap();
        assert!(mkfs.contains("-I 256") && !mkfs.contains("hash_seed"), "{mkfs}");
        let seed = record.outcome.iter().find(|(name, _)| name == "mkfs -E").unwrap();
        (record.recipe_key(), seed.1.clone())
    });
    assert_eq!(keys[0].0, keys[1].0);
    assert_ne!(keys[0].1, keys[1].1, "mke2fs draws a seed");
}
