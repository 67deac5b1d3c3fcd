/** Writes a pod's /etc/hosts file (upstream pkg/kubelet/kubelet_pods.go). */
import { chmod, readFile, readStart, stat, truncate, writeFile } from '../blocking-fs.ts';
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { etcHostsPath } from '../../../../shared/kubernetes/paths.ts';
import type { PodHostname } from '../runtime-config/hostname.ts';

type HostAliases = NonNullable<Pod['spec']['hostAliases']>;

const nodeHostsFile = '/etc/hosts';
const loopbackLines = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** Returns the file of a pod with its own network. */
export function managedHostsContent(podIPs: readonly string[], { hostname, domain }: PodHostname, aliases: HostAliases = []): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = ['# Kubernetes-managed hosts file.', ...loopbackLines, ...podIPs.map((ip) => `${ip}\t${names}`)];
  return `${lines.join('\n')}\n${aliasLines(aliases)}`;
}

/** Returns the file of a pod in the host's network: the node's file with the pod's aliases. */
export function nodeHostsContent(nodeContent: string, aliases: HostAliases = []): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeContent}${aliasLines(aliases)}`;
}

function aliasLines(aliases: HostAliases): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip ?? ''}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}

/** Returns the path. Overwrites the file without replacing it, because running containers have it mounted. */
export async function writeHostsFile(rootDir: string, pod: Pod, podIPs: readonly string[], hostname: PodHostname): Promise<string> {
  const { hostAliases, hostNetwork } = pod.spec;
  const path = etcHostsPath(rootDir, pod.metadata.uid);
  const content = hostNetwork
    ? nodeHostsContent(await readFile(nodeHostsFile, 'utf8'), hostAliases)
    : managedHostsContent(podIPs, hostname, hostAliases);
  const size = await sizeOf(path);
  const newSize = Buffer.byteLength(content);
  if (size === undefined) {
    await writeFile(path, content);
  } else if (size !== newSize || !(await hasContent(path, content))) {
    // The file is overwritten and truncated afterwards. Truncated first, it would stay empty on a full disk, and ext4 would allocate its block again, after
    // a commit of the journal.
    await writeFile(path, content, { flag: 'r+' });
    if (size > newSize) await truncate(path, newSize);
  }
  await chmod(path, 0o644);
  return path;
}

/** Returns the path. Creates the file before the pod's IPs are known, because only an existing file can be mounted. */
export async function createEmptyHostsFile(rootDir: string, pod: Pod): Promise<string> {
  const path = etcHostsPath(rootDir, pod.metadata.uid);
  if ((await sizeOf(path)) === undefined) await writeFile(path, '');
  return path;
}

/** Returns undefined when the file does not exist. */
async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

/**
 * Returns whether the file is equal to the content. Reads one byte more than the content has, and no more: a container may write any amount of data to the
 * file at any time, also after its size was read.
 */
export async function hasContent(path: string, content: string): Promise<boolean> {
  const expected = Buffer.from(content);
  return (await readStart(path, expected.length + 1).catch(() => undefined))?.equals(expected) ?? false;
}
