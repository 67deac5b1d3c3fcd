/**
 * Checks and normalizes the sysctls of a pod, for admission and pod syncs (upstream pkg/kubelet/sysctl and component-helpers
 * node/util/sysctl).
 */
import type { Pod } from './api.ts';
import { goQuote } from './go-text.ts';
import { isKernelAtLeast } from '../linux/kernel-version.ts';

/** The names that messages have. */
type Namespace = 'IPC' | 'Net' | 'UTS' | 'User';

const ipcSysctls = new Set([
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.shm',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.msg',
]);

/** These sysctls cannot affect other pods, starting with the kernel version that namespaces them. */
const safeSysctls: readonly (readonly [name: string, sinceKernel: string])[] = [
  ['kernel.shm_rmid_forced', '0'],
  ['net.ipv4.ip_local_port_range', '0'],
  ['net.ipv4.tcp_syncookies', '0'],
  ['net.ipv4.ping_group_range', '0'],
  ['net.ipv4.ip_unprivileged_port_start', '0'],
  ['net.ipv4.ip_local_reserved_ports', '3.16'],
  ['net.ipv4.tcp_keepalive_time', '4.5'],
  ['net.ipv4.tcp_fin_timeout', '4.6'],
  ['net.ipv4.tcp_keepalive_intvl', '4.5'],
  ['net.ipv4.tcp_keepalive_probes', '4.5'],
  ['net.ipv4.tcp_rmem', '4.15'],
  ['net.ipv4.tcp_wmem', '4.15'],
  ['net.ipv4.tcp_slow_start_after_idle', '4.15'],
  ['net.ipv4.tcp_notsent_lowat', '4.6'],
];

/**
 * Returns the name with dots as separators. A name whose first separator is a slash uses slashes for dots and dots for slashes
 * (sysctl.d(5)).
 */
export function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/**
 * Returns the message of a `SysctlForbidden` admission failure, or null when the node admits the pod. `allowedUnsafeSysctls`
 * comes from the configuration: names, or prefixes that end in `*`.
 */
export function checkSysctls(pod: Pod, allowedUnsafeSysctls: readonly string[], kernelVersion: string): string | null {
  const allowed = [
    ...safeSysctls.filter(([, since]) => isKernelAtLeast(kernelVersion, since)).map(([name]) => name),
    ...allowedUnsafeSysctls,
  ];
  for (const { name } of pod.spec.securityContext?.sysctls ?? []) {
    const forbidden = checkOne(normalizeSysctl(name), allowed, pod);
    if (forbidden !== null) return `forbidden sysctl: ${forbidden}`;
  }
  return null;
}

/** Upstream's SysctlMaxLength. */
const maxLength = 253;
const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const patternFormat = `(${segment}[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]`;
const nameFormat = new RegExp(`^(${segment}[./])*${segment}$`);

/** The name of one sysctl, as the configuration and pods may have it. */
export function isSysctlName(name: string): boolean {
  return name.length <= maxLength && nameFormat.test(name);
}

/** Undefined: the sysctl is not known to be namespaced. */
export function sysctlNamespace(name: string): Namespace | undefined {
  return namespaceOf(normalizeSysctl(name));
}

/**
 * Returns the defaults, with normalized names, that apply to the pod: not those of a namespace that the pod shares with the host (upstream
 * applyPodSysctls). A pod in the host's network gets no domain name either.
 */
export function defaultSysctls(defaults: Readonly<Record<string, string>>, { spec }: Pod): Record<string, string> {
  const named = Object.entries(defaults).map(([name, value]): [string, string] => [normalizeSysctl(name), value]);
  return Object.fromEntries(
    named.filter(([name]) => {
      const namespace = namespaceOf(name);
      return namespace === 'UTS' ? !spec.hostNetwork : !isHostNamespace(namespace, spec);
    }),
  );
}

/** Returns why the pattern is not valid in allowedUnsafeSysctls, or null when it is. Only namespaced sysctls may be set by pods. */
export function checkSysctlPattern(pattern: string): string | null {
  if (pattern.length > maxLength || !new RegExp(`^${patternFormat}$`).test(pattern))
    return `sysctl ${goQuote(pattern)} must have at most ${maxLength} characters and match regex ${patternFormat}`;
  const name = normalizeSysctl(pattern).replace(/\*.*$/, '');
  return namespaceOf(name) !== undefined ? null : `the sysctls ${goQuote(name)} are not known to be namespaced`;
}

function checkOne(sysctl: string, allowed: readonly string[], { spec }: Pod): string | null {
  const pattern = allowed.find((name) => matches(sysctl, normalizeSysctl(name)));
  if (pattern === undefined) return `${goQuote(sysctl)} not allowlisted`;
  const namespace = namespaceOf(normalizeSysctl(pattern).replace(/\*.*$/, ''));
  return isHostNamespace(namespace, spec) ? `${goQuote(sysctl)} not allowed with host ${namespace} enabled` : null;
}

function matches(sysctl: string, pattern: string): boolean {
  const star = pattern.indexOf('*');
  return star === -1 ? sysctl === pattern : sysctl.startsWith(pattern.slice(0, star));
}

/** The pod has the host's namespace instead of its own. As upstream, a hostname does not count. */
function isHostNamespace(namespace: Namespace | undefined, { hostIPC, hostNetwork, hostUsers }: Pod['spec']): boolean {
  if (namespace === 'IPC') return hostIPC === true;
  if (namespace === 'Net') return hostNetwork === true;
  return namespace === 'User' && hostUsers !== false;
}

/** Undefined: not known to be namespaced. */
function namespaceOf(name: string): Namespace | undefined {
  if (name === 'kernel.domainname') return 'UTS';
  if (name.startsWith('user.')) return 'User';
  if (name.startsWith('net.')) return 'Net';
  return ipcSysctls.has(name) || name.startsWith('fs.mqueue.') ? 'IPC' : undefined;
}
