use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::container::Id;

const UID: &str = "8f0b6d52-1c2d-4e3f-9a8b-7c6d5e4f3a2b";

/// Returns an ID that ends with this number.
fn id(number: u64) -> String {
    format!("{number:064x}").replace('0', "a")
}

/// Makes the files of a container's log as kubelet does.
fn log(root: &Path, namespace: &str, pod: &str, uid: &str, container: &str, id: &str) {
    let folder = format!("var/log/pods/{namespace}_{pod}_{uid}/{container}");
    fs::create_dir_all(root.join(&folder)).unwrap();
    fs::write(root.join(&folder).join("0.log"), "").unwrap();
    let links = root.join("var/log/containers");
    fs::create_dir_all(&links).unwrap();
    let link = links.join(format!("{pod}_{namespace}_{container}-{id}.log"));
    symlink(format!("/{folder}/0.log"), link).unwrap();
}

/// Returns what is said of a control group.
fn shown(root: &Path, path: &str) -> String {
    let mut names = Names::below(Root::at(root).unwrap());
    let mut container = Container::of(path).unwrap();
    names.give(&mut container);
    container.to_string()
}

#[test]
fn a_pod_and_its_containers_have_the_names_of_their_logs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    log(root, "shop", "cart-7d9f-x2x4z", UID, "app", &id(1));
    log(root, "shop", "cart-7d9f-x2x4z", UID, "proxy", &id(2));
    let of = |rest: &str| shown(root, &format!("/kubepods/burstable/pod{UID}{rest}"));
    assert_eq!(
        of(&format!("/{}", id(1))),
        "pod shop/cart-7d9f-x2x4z, container app"
    );
    assert_eq!(
        of(&format!("/{}", id(2))),
        "pod shop/cart-7d9f-x2x4z, container proxy"
    );
    assert_eq!(of(""), "pod shop/cart-7d9f-x2x4z");
    let unknown = of(&format!("/{}", id(3)));
    let short = &id(3)[..12];
    assert_eq!(
        unknown,
        format!("pod shop/cart-7d9f-x2x4z, container {short} (name unknown)")
    );
    // From within a container of the same pod, its own path does not show the pod.
    let beside = shown(root, &format!("/../cri-containerd-{}.scope", id(1)));
    assert_eq!(beside, "pod shop/cart-7d9f-x2x4z, container app");
}

#[test]
fn the_only_container_needs_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join(format!("var/log/pods/shop_cart_{UID}/app"))).unwrap();
    let path = format!("/kubepods/pod{UID}/{}", id(1));
    assert_eq!(shown(root, &path), "pod shop/cart, container app");
    fs::create_dir_all(root.join(format!("var/log/pods/shop_cart_{UID}/init"))).unwrap();
    assert!(shown(root, &path).ends_with("(name unknown)"));
}

#[test]
fn what_is_not_known_is_said_to_be_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("/kubepods/pod{UID}/{}", id(1));
    let short = &id(1)[..12];
    let unknown = format!("pod {UID} (name unknown), container {short}");
    assert_eq!(shown(folder.path(), &path), unknown);
}

#[test]
fn a_name_that_is_contradicted_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    log(root, "shop", "cart", UID, "app", &id(1));
    let path = format!("/kubepods/pod{UID}/{}", id(1));
    // Another pod with the same UID.
    fs::create_dir_all(root.join(format!("var/log/pods/bank_vault_{UID}"))).unwrap();
    assert!(shown(root, &path).starts_with(&format!("pod {UID} (name unknown)")));
    fs::remove_dir(root.join(format!("var/log/pods/bank_vault_{UID}"))).unwrap();
    // Another container with the same ID.
    let forged = format!("var/log/containers/vault_bank_safe-{}.log", id(1));
    fs::write(root.join(forged), "").unwrap();
    let said = shown(root, &path);
    assert_eq!(
        said, "pod shop/cart, container app",
        "its pod has had one container alone"
    );
    let other = format!("/system.slice/docker-{}.scope", id(1));
    assert!(shown(root, &other).contains("unknown"));
}

/// Names that Kubernetes gives to nobody: they would break lines, act on terminals, leave the folder, or look like
/// another pod.
#[test]
fn hostile_names_are_no_names() {
    let long = "a".repeat(254 - UID.len() - 10);
    for (namespace, pod) in [
        ("shop", "cart\nforged"),
        ("shop", "\u{1b}[2Jcart"),
        ("shop", "cart\u{202e}"),
        ("..", "cart"),
        ("shop", ".."),
        ("Shop", "cart"),
        ("shop", "cart_x"),
        ("shop", "-cart"),
        ("shop", "cart-"),
        ("shop", "cart..x"),
        ("shop", "cart x"),
        ("shop", "cart, container app"),
        ("", "cart"),
        ("shop", ""),
        (&"s".repeat(64), "cart"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let entry = format!("var/log/pods/{namespace}_{pod}_{UID}/app");
        fs::create_dir_all(folder.path().join(entry)).unwrap();
        let said = shown(folder.path(), &format!("/kubepods/pod{UID}/{}", id(1)));
        assert!(
            said.starts_with(&format!("pod {UID} (name unknown)")),
            "{said}"
        );
    }
    // The longest that the file system takes is one.
    let folder = tempfile::tempdir().unwrap();
    let entry = format!("var/log/pods/shop_{long}_{UID}/app");
    fs::create_dir_all(folder.path().join(entry)).unwrap();
    let said = shown(folder.path(), &format!("/kubepods/pod{UID}/{}", id(1)));
    assert_eq!(said, format!("pod shop/{long}, container app"));
}

#[test]
fn thousands_of_pods_are_read_and_more_are_bounded() {
    // Some disks take 15 s to remove so many folders.
    let folder = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let pods = folder.path().join("var/log/pods");
    fs::create_dir_all(&pods).unwrap();
    let uid = |number: u32| format!("{number:08x}-1c2d-4e3f-9a8b-7c6d5e4f3a2b");
    for number in 0..5000 {
        fs::create_dir(pods.join(format!("shop_cart-{number}_{}", uid(number)))).unwrap();
    }
    let mut names = Names::below(Root::at(folder.path()).unwrap());
    for number in [0, 4999] {
        let mut container = Container::of(&format!("/kubepods/pod{}", uid(number))).unwrap();
        names.give(&mut container);
        assert_eq!(container.to_string(), format!("pod shop/cart-{number}"));
    }
    let mut map = HashMap::new();
    for number in 0..2 * MOST_ENTRIES {
        tell(&mut map, number, ());
    }
    assert_eq!(map.len(), MOST_ENTRIES);
}

#[test]
fn the_runtimes_files_tell_the_names_of_other_containers() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let docker = root.join(format!("var/lib/docker/containers/{}", id(1)));
    fs::create_dir_all(&docker).unwrap();
    fs::write(
        docker.join("config.v2.json"),
        r#"{"ID":"x","Name":"/web","State":{}}"#,
    )
    .unwrap();
    let storage = root.join("var/lib/containers/storage/overlay-containers");
    fs::create_dir_all(&storage).unwrap();
    let containers = format!(
        r#"[{{"id":"{}","names":["db"]}},{{"id":"{}","names":["\u001b[2J"]}}]"#,
        id(2),
        id(3)
    );
    fs::write(storage.join("containers.json"), containers).unwrap();
    let short = |number| Id::parse(&id(number)).unwrap().short().to_owned();
    let docker = format!("/system.slice/docker-{}.scope", id(1));
    assert_eq!(shown(root, &docker), format!("docker web ({})", short(1)));
    let podman = |number| shown(root, &format!("/machine.slice/libpod-{}.scope", id(number)));
    assert_eq!(podman(2), format!("podman db ({})", short(2)));
    assert_eq!(podman(3), format!("podman {} (name unknown)", short(3)));
}
