//! Errors of refused plans: a golden file of all renderings.

use crate::{read_file, read_plan};

/// Documents with one fault each, named after the fault.
const FAULTS: &[(&str, &str)] = &[
    ("a string without quotation marks", "loop = 8GiB\n"),
    ("a word where a number is wanted", "rounds = ten\n[[variant]]\nfilesystem = \"ext4\"\n"),
    (
        "an option without its workload",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\noptions = { personality = \"varmail\" }\n",
    ),
    (
        "a metric of a phase that no job has",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\nworkload = \"ior\"\n\
         [report]\nprimary = [\"phase nonsense/elapsed_seconds\"]\n",
    ),
    (
        "a command of a variant with ages",
        "device = { loop = \"1GiB\" }\n[aging]\nage = [0, 100]\n\
         [[variant]]\nfilesystem = \"ext4\"\nprepare = \"chattr +C .\"\n",
    ),
    ("no value", "name =\n[[variant]]\n"),
    ("a section never closed", "[[variant]\nfilesystem = \"ext4\"\n"),
    ("a key twice", "rounds = 6\nrounds = 8\n"),
    ("an unknown key", "[[variant]]\nfilesytem = \"ext4\"\n"),
    ("an unknown key that is known elsewhere", "[[variant]]\nfilesystem = \"xfs\"\nrounds = 8\n"),
    ("an unknown key like no other", "colour = 3\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("a wrong type", "rounds = \"6\"\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("a number out of range", "rounds = 0\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("no variants", "name = \"nothing\"\n"),
    ("single brackets", "[variant]\nfilesystem = \"ext4\"\n"),
    ("double brackets", "[[device]]\nloop = \"4GiB\"\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("half a handicap", "[[variant]]\nfilesystem = \"ext4\"\nhandicap = \"2.5%\"\n"),
    ("too much of it", "[[variant]]\nfilesystem = \"ext4\"\nhandicap = \"901%\"\n"),
    ("an unknown filesystem", "[[variant]]\nfilesystem = \"brtfs\"\n"),
    ("no filesystem", "[[variant]]\nname = \"a\"\n"),
    (
        "two variants of one name",
        "[[variant]]\nfilesystem = \"xfs\"\n[[variant]]\nname = \"xfs\"\n\
      filesystem = \"xfs\"\nmount = \"noatime\"\n",
    ),
    ("an empty name", "[[variant]]\nname = \"\"\nfilesystem = \"ext4\"\n"),
    ("a name with a control character", "name = \"a\\u001b[31m\"\n[[variant]]\n"),
    ("the name of a control", "[[variant]]\nname = \"xfs (again)\"\nfilesystem = \"xfs\"\n"),
    (
        "the name of an observed trial",
        "[[variant]]\nname = \"x (observed)\"\nfilesystem = \"xfs\"\n",
    ),
    (
        "observed nowhere",
        "[[variant]]\nfilesystem = \"xfs\"\n[observe]\ntrace = true\nin = \"both\"\n",
    ),
    ("nothing observed", "[[variant]]\nfilesystem = \"xfs\"\n[observe]\nrounds = 2\n"),
    (
        "observing rounds that are none",
        "[[variant]]\nfilesystem = \"xfs\"\n[observe]\ntrace = true\nin = \"measured\"\n\
      rounds = 2\n",
    ),
    (
        "a machine that is none",
        "machine = \"rebot\"\n[[variant]]\nfilesystem = \"xfs\"\nkernel = \"6.1.0\"\n",
    ),
    (
        "a file to reboot into",
        "machine = \"reboot\"\n[[variant]]\nfilesystem = \"xfs\"\nkernel = \"./a.deb\"\n",
    ),
    ("nothing to reboot into", "machine = \"reboot\"\n[[variant]]\nfilesystem = \"xfs\"\n"),
    (
        "instructions of several CPUs",
        "guest = { accelerator = \"icount\", cpus = 2 }\n[[variant]]\nfilesystem = \"xfs\"\n",
    ),
    ("a commit", "[[variant]]\nfilesystem = \"xfs\"\nkernel = \"git:v6.11\"\n"),
    (
        "queues of a disk with one",
        "guest = { disk = \"ahci\", queues = 2 }\n[[variant]]\nkernel = \"./a.deb\"\n",
    ),
    (
        "a root that begins nowhere",
        "guest = { root = \"srv\" }\n[[variant]]\nfilesystem = \"xfs\"\nkernel = \"./a.deb\"\n",
    ),
    (
        "a disk among the options of QEMU",
        "guest = { qemu-options = [\"-drive\", \"file=/dev/sda\"] }\n[[variant]]\n\
         filesystem = \"xfs\"\nkernel = \"./a.deb\"\n",
    ),
    (
        "a device of the host in a guest",
        "guest = { qemu-options = \"-device vfio-pci,host=01:00.0\" }\n[[variant]]\n\
         filesystem = \"xfs\"\nkernel = \"./a.deb\"\n",
    ),
    (
        "a QEMU without a path",
        "guest = { qemu = \"qemu\" }\n[[variant]]\nfilesystem = \"xfs\"\nkernel = \"./a.deb\"\n",
    ),
    (
        "a module with a blank",
        "guest = { modules = [\"zram num_devices=1\"] }\n[[variant]]\nfilesystem = \"xfs\"\n\
         kernel = \"./a.deb\"\n",
    ),
    ("limits of nothing", "[[variant]]\nfilesystem = \"xfs\"\nlimits = {}\n"),
    (
        "a limit with an underscore",
        "[[variant]]\nfilesystem = \"xfs\"\nlimits = { io_read = \"20M\" }\n",
    ),
    (
        "a limit of a device that is none",
        "[[variant]]\ndevice = { directory = \"/srv/x\" }\nlimits = { io-write = \"20M\" }\n",
    ),
    (
        "half a percent of a CPU",
        "[[variant]]\nfilesystem = \"xfs\"\nlimits = { cpu = \"50.5%\" }\n",
    ),
    (
        "an environment for nobody",
        "[[variant]]\nfilesystem = \"xfs\"\nenv = { A = \"1\" }\n[[job]]\nworkload = \"fs_mark\"\n",
    ),
    (
        "an option of a variant that the job has not",
        "[[variant]]\nfilesystem = \"xfs\"\noptions = { thread = 4 }\n[[job]]\n\
         workload = \"fs_mark\"\n",
    ),
    (
        "options of a job that is none",
        "[[variant]]\nfilesystem = \"xfs\"\noptions.marc = { threads = 4 }\n[[job]]\nname = \"mark\"\n\
         workload = \"fs_mark\"\n",
    ),
    ("an unknown baseline", "baseline = \"ext3\"\n[[variant]]\nfilesystem = \"ext4\"\n"),
    (
        "a variant against one below",
        "[[variant]]\nfilesystem = \"ext4\"\nagainst = \"xfs\"\n[[variant]]\n\
         filesystem = \"xfs\"\n",
    ),
    (
        "a variant against none",
        "[[variant]]\nfilesystem = \"ext4\"\n[[variant]]\nfilesystem = \"xfs\"\n\
         against = \"ext3\"\n",
    ),
    ("a variant against itself", "[[variant]]\nfilesystem = \"xfs\"\nagainst = \"xfs\"\n"),
    (
        "a baseline against another",
        "baseline = \"xfs\"\n[[variant]]\nfilesystem = \"ext4\"\n[[variant]]\n\
         filesystem = \"xfs\"\nagainst = \"ext4\"\n",
    ),
    (
        "a step with a command around it",
        "[[variant]]\nfilesystem = \"ext4\"\n[[step]]\nworkload = \"fs_mark\"\n\
         prepare = \"touch a\"\n",
    ),
    (
        "no step that is measured",
        "[[variant]]\nfilesystem = \"ext4\"\n[[step]]\ncommand = \"ls\"\nmeasure = false\n",
    ),
    (
        "a step in a path",
        "[[variant]]\nfilesystem = \"ext4\"\n[[step]]\ncommand = \"ls\"\ndirectory = \"../a\"\n",
    ),
    (
        "a step below no overlay",
        "[[variant]]\nfilesystem = \"ext4\"\n[[step]]\ncommand = \"ls\"\nbelow-overlay = true\n",
    ),
    (
        "a step below an overlay that is mounted",
        "[[variant]]\nfilesystem = \"ext4\"\nlayers = [\"overlay\"]\n[[step]]\nname = \"a\"\n\
         command = \"ls\"\n[[step]]\nname = \"b\"\ncommand = \"ls\"\nbelow-overlay = true\n",
    ),
    (
        "a job against none",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\nname = \"wal\"\n[[job]]\n\
         against = \"wall\"\n",
    ),
    (
        "a job against itself",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\nname = \"wal\"\nagainst = \"wal\"\n",
    ),
    (
        "a job against one of another workload",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\n[[job]]\nworkload = \"fs_mark\"\n\
         against = \"compilebench\"\n",
    ),
    (
        "jobs against one another",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\nname = \"a\"\nagainst = \"b\"\n\
         [[job]]\nname = \"b\"\nagainst = \"a\"\n",
    ),
    ("a size that is none", "[device]\nloop = \"big\"\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("two devices in one", "[device]\nloop = \"4GiB\"\nblock = \"/dev/sdb1\"\n[[variant]]\n"),
    ("no device in a device", "[device]\nsparse = true\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("a key of another device", "[device]\nblock = \"/dev/sdb1\"\ncount = 4\n[[variant]]\n"),
    ("a relative path", "[device]\nblock = \"sdb1\"\n[[variant]]\nfilesystem = \"ext4\"\n"),
    ("a device twice", "[device]\nblock = [\"/dev/sdb\", \"/dev/sdb\"]\n"),
    (
        "a filesystem on a directory",
        "[device]\ndirectory = \"/mnt/x\"\n\n[[variant]]\nfilesystem = \"ext4\"\n",
    ),
    (
        "several devices for one",
        "[[variant]]\nfilesystem = \"ext4\"\n\
      device = { loop = \"4GiB\", count = 4 }\n",
    ),
    (
        "a journal of a filesystem that keeps it inside",
        "[[variant]]\nfilesystem = \"btrfs\"\njournal = { loop = \"1GiB\" }\n",
    ),
    (
        "a journal on two devices",
        "[[variant]]\nfilesystem = \"ext4\"\njournal = { loop = \"1GiB\", count = 2 }\n",
    ),
    (
        "a journal in a directory",
        "[[variant]]\nfilesystem = \"xfs\"\njournal = { directory = \"/mnt/fast\" }\n",
    ),
    (
        "a journal on the device of its filesystem",
        "[[variant]]\nfilesystem = \"xfs\"\ndevice = { block = \"/dev/sdb\" }\n\
         journal = { block = \"/dev/sdb\" }\n",
    ),
    (
        "two second devices",
        "[[variant]]\nfilesystem = \"ext4\"\njournal = { loop = \"1GiB\" }\n\
         second-device = { loop = \"1GiB\" }\n",
    ),
    (
        "a second device of a filesystem with one",
        "[[variant]]\nfilesystem = \"ext4\"\nsecond-device = { loop = \"1GiB\" }\n",
    ),
    (
        "a journal beside a directory",
        "[[variant]]\ndevice = { directory = \"/mnt\" }\njournal = { loop = \"1GiB\" }\n",
    ),
    ("a LUKS header", "[[variant]]\nfilesystem = \"ext4\"\nlayers = [\"luks\"]\n"),
    ("an unknown layer", "[[variant]]\nfilesystem = \"ext4\"\nlayers = [\"overlya\"]\n"),
    (
        "a layer above an overlay",
        "[[variant]]\nfilesystem = \"ext4\"\n\
      layers = [\"overlay\", { loop = { on = \"xfs\" } }]\n",
    ),
    (
        "two layers in one table",
        "[[variant]]\nfilesystem = \"ext4\"\n\
      layers = [{ loop = { on = \"xfs\" }, overlay = {} }]\n",
    ),
    ("an array without a level", "[[variant]]\nfilesystem = \"ext4\"\nlayers = [\"md\"]\n"),
    (
        "an unknown mode of a cache",
        "[[variant]]\nfilesystem = \"ext4\"\nlayers = [{ bcache = { mode = \"writebak\" } }]\n",
    ),
    (
        "an array of a level that is not made",
        "[[variant]]\nfilesystem = \"ext4\"\nlayers = [{ md = { level = 4 } }]\n",
    ),
    (
        "an array with too few disks",
        "[[variant]]\nfilesystem = \"ext4\"\nlayers = [{ md = { level = 5, disks = 2 } }]\n",
    ),
    (
        "an array with other disks than the device",
        "device = { loop = \"1GiB\", count = 3 }\n[[variant]]\nfilesystem = \"ext4\"\n\
         layers = [{ md = { level = 5, disks = 4 } }]\n",
    ),
    (
        "a stripe cache without parity",
        "[[variant]]\nfilesystem = \"ext4\"\n\
         layers = [{ md = { level = 0, stripe-cache = 256 } }]\n",
    ),
    ("a loop layer on nothing", "[[variant]]\nfilesystem = \"ext4\"\nlayers = \"loop\"\n"),
    (
        "a loop layer in memory",
        "[[variant]]\nfilesystem = \"ext4\"\nlayers = [{ loop = { on = \"tmpfs\" } }]\n",
    ),
    (
        "layers of a directory",
        "[[variant]]\ndevice = { directory = \"/mnt/x\" }\nlayers = [\"overlay\"]\n",
    ),
    ("a device too small", "[device]\nloop = \"4MiB\"\n[[variant]]\nfilesystem = \"btrfs\"\n"),
    (
        "an option that mkfs may not have",
        "[[variant]]\nfilesystem = \"ext4\"\n\
      mkfs = \"-m 1 /dev/sda\"\n",
    ),
    ("a quotation never closed", "[[variant]]\nfilesystem = \"ext4\"\nmkfs = \"-L 'my disk\"\n"),
    (
        "a mount option that is not the kernel's",
        "[[variant]]\nfilesystem = \"ext4\"\n\
      mount = [\"noatime\", \"noauto\"]\n",
    ),
    ("read-only", "[[variant]]\nfilesystem = \"ext4\"\nmount = \"ro\"\n"),
    (
        "mounting a directory again",
        "remount = true\n[[variant]]\n\
      device = { directory = \"/mnt/x\" }\n",
    ),
    (
        "two endings",
        "rounds = 10\n\n[stopping]\nrule = \"sequential\"\n\n[[variant]]\n\
      filesystem = \"ext4\"\n",
    ),
    ("an unknown rule", "[stopping]\nrule = \"precise\"\n"),
    ("a key of another rule", "[stopping]\nrule = \"precision\"\nlooks = [6]\n"),
    ("time without minutes", "[stopping]\nrule = \"time\"\n"),
    ("no time at all", "[stopping]\nrule = \"time\"\nminutes = 0\n"),
    ("precision without a width", "[stopping]\nrule = \"precision\"\n"),
    ("a percentage without its sign", "[stopping]\nrule = \"precision\"\nhalf-width = 1.5\n"),
    (
        "too few rounds for an interval",
        "[stopping]\nrule = \"precision\"\nhalf-width = \"1%\"\n\
      fewest = 4\n",
    ),
    (
        "fewest above most",
        "[stopping]\nrule = \"precision\"\nhalf-width = \"1%\"\n\
      fewest = 20\nmost = 10\n",
    ),
    ("looks that do not rise", "[stopping]\nrule = \"sequential\"\nlooks = [6, 10, 10]\n"),
    (
        "an unknown workload",
        "[[job]]\nworkload = \"compilebenhc\"\n\n[[variant]]\n\
      filesystem = \"ext4\"\n",
    ),
    (
        "an unknown option",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n[job.options]\n\
      initial_dirs = 3\n",
    ),
    (
        "an option of the classic command line",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      options = { no-sync = true }\n",
    ),
    (
        "a value that the workload refuses",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      [job.options]\ndataset = \"linux-6.1-small\"\nmix = \"create=1,destroy=2\"\n",
    ),
    (
        "options that exclude each other",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      options = { fill = \"40%\", initial-dirs = 3 }\n",
    ),
    (
        "an unknown data set",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      options = { dataset = \"linux-6.1-smal\" }\n",
    ),
    (
        "a flag that is none",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      options = { makej = \"yes\" }\n",
    ),
    (
        "a share as a number",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      options = { fill = 0.4 }\n",
    ),
    (
        "a command of another workload",
        "[[variant]]\nfilesystem = \"ext4\"\n\n\
      [[job]]\nworkload = \"fio\"\ncommand = [\"true\"]\n",
    ),
    (
        "a command that is no text",
        "[[variant]]\nfilesystem = \"ext4\"\n\n\
      [[job]]\ncommand = [\"true\", 3]\n",
    ),
    (
        "no command",
        "[[variant]]\nfilesystem = \"ext4\"\n\n\
      [[job]]\nprepare = \"true\"\n",
    ),
    (
        "a metric without a name",
        "[[variant]]\nfilesystem = \"ext4\"\n\n\
      [[job]]\ncommand = \"true\"\nmetric = { regex = \"(.)\" }\n",
    ),
    (
        "a metric without a place",
        "[[variant]]\nfilesystem = \"ext4\"\n\n\
      [[job]]\ncommand = \"true\"\n[[job.metric]]\nname = \"x\"\n",
    ),
    (
        "an expression that the workload refuses",
        "[[variant]]\nfilesystem = \"ext4\"\n\n\
      [[job]]\ncommand = \"true\"\nmetric = { name = \"x\", regex = \"(\", unit = \"s\" }\n",
    ),
    (
        "an option of a workload beside the keys of its job",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\nworkload = \"fs_mark\"\nfiles = 100\n",
    ),
    (
        "a misspelt option of a workload beside the keys of its job",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\nworkload = \"fs_mark\"\nfilez = 100\n",
    ),
    ("a size of a variant", "[[variant]]\nfilesystem = \"ext4\"\nsize = \"4GiB\"\n"),
    ("a device as a path", "[[variant]]\nfilesystem = \"ext4\"\ndevice = \"/dev/sdb1\"\n"),
    ("a list for a section", "observe = [\"trace\"]\n\n[[variant]]\nfilesystem = \"ext4\"\n"),
    (
        "two jobs of one name",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\n\
      options = { dataset = \"linux-6.1-small\" }\n\n[[job]]\n\
      options = { dataset = \"linux-6.1-small\", runs = 3 }\n",
    ),
    (
        "a metric that is none",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[report]\n\
      primary = [\"create/MiB per second\"]\n",
    ),
    (
        "a threshold without its sign",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[report]\n\
      threshold = 3\n",
    ),
    (
        "a parameter to ignore that no job has",
        "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\nworkload = \"command\"\n\
      options = { command = \"true\" }\n\n[report]\nignore = [\"comand\"]\n",
    ),
];

#[test]
fn every_fault_is_shown_at_its_position_with_a_remedy() {
    let mut golden = String::new();
    for (what, text) in FAULTS {
        let error = read_plan(text).expect_err(what);
        assert!(!error.message().contains('\n'), "{what}");
        golden.push_str(&format!("## {what}\n\n{error}\n\n"));
    }
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("errors", golden);
    });
}

#[test]
fn errors_have_message_hint_and_coloured_rendering() {
    let error = read_plan("[[variant]]\nfilesytem = \"ext4\"\n").unwrap_err();
    assert_eq!(error.message(), "[[variant]] has no key `filesytem`");
    assert!(error.hint().unwrap().starts_with("did you mean `filesystem`?"));
    assert!(!error.to_string().contains('\u{1b}'));
    assert!(error.coloured().contains('\u{1b}'));
    let source: &dyn std::error::Error = &error;
    assert!(source.source().is_none());
}

#[test]
fn a_file_of_more_than_a_mebibyte_is_refused() {
    let error = read_file(&"#\n".repeat((1 << 19) + 1), "large.toml").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("large.toml") && text.contains("1048576"), "{text}");
}
