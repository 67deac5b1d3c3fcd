/**
 * A mount namespace with huge pages for a test. Other tests run on the same host, whose nodes must not change: so the hugetlb hierarchy is mounted in the
 * namespace only, and the number of pages is a file of the namespace. No page is really reserved.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type koffi from 'koffi';

/** CLONE_NEWNS of linux/sched.h. */
const newMountNamespace = 0x20000;

export interface HugePagesNamespace {
  /** The host has none. */
  readonly hasOwnHierarchy: boolean;
}

const script = `
set -e
mount --make-rprivate /
new=$1/cgroup
mkdir -p $new
mount -t tmpfs cgroup $new
for entry in /sys/fs/cgroup/*; do
  name=$(basename $entry)
  if [ -L $entry ]; then cp -P $entry $new/$name; else mkdir $new/$name; mount --rbind $entry $new/$name; fi
done
[ -d $new/hugetlb ] || { mkdir $new/hugetlb; mount -t cgroup -o hugetlb hugetlb $new/hugetlb; }
mount --move $new /sys/fs/cgroup
pages=$1/hugepages
mkdir -p $pages
mount -t tmpfs hugepages $pages
mkdir $pages/hugepages-2048kB $pages/hugepages-1048576kB
echo $2 > $pages/hugepages-2048kB/nr_hugepages
echo 0 > $pages/hugepages-1048576kB/nr_hugepages
mount --move $pages /sys/kernel/mm/hugepages
`;

/**
 * Moves the calling thread into a new mount namespace, with the children that it starts from now on. Blocking file access of this thread sees the namespace;
 * node:fs/promises does not.
 */
export function enterHugePagesNamespace(folder: string, pages2Mi: number): HugePagesNamespace {
  const hasHierarchy = existsSync('/sys/fs/cgroup/hugetlb');
  const native = createRequire(import.meta.url)('koffi') as typeof koffi;
  const unshare = native.load(null).func('int unshare(int flags)') as unknown as (flags: number) => number;
  if (unshare(newMountNamespace) !== 0) throw new Error(`unshare failed: errno ${native.errno()}`);
  execFileSync('sh', ['-c', script, 'sh', folder, String(pages2Mi)], { stdio: ['ignore', 'ignore', 'pipe'] });
  return { hasOwnHierarchy: !hasHierarchy };
}

const removal = `
for try in $(seq 10); do
  umount /sys/fs/cgroup/hugetlb
  # The kernel ends it a moment later.
  for wait in $(seq 20); do
    grep -q ':hugetlb:' /proc/self/cgroup || exit 0
    sleep 0.1
  done
  mount -t cgroup -o hugetlb hugetlb /sys/fs/cgroup/hugetlb
done
echo 'the hierarchy of huge pages stays' >&2
exit 1
`;

/**
 * Ends the hierarchy, unless it is the host's. Its cgroups must be gone. When the last of them has been removed just before, the hierarchy would outlive its
 * last mount, and every process of the host would be in it.
 */
export function removeHugePagesHierarchy({ hasOwnHierarchy }: HugePagesNamespace): void {
  if (hasOwnHierarchy) execFileSync('sh', ['-c', removal], { stdio: ['ignore', 'ignore', 'pipe'] });
}
