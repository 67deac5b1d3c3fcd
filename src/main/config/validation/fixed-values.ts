/** Rules for fields with a fixed set of values. Upstream rejects some of these only when the component that reads them starts. */
import { checkSysctlPattern } from '../../../shared/kubernetes/sysctls.ts';
import { formatDuration } from '../duration.ts';
import { quotedList, collectErrors, invalid, type ValidationRule } from './rules.ts';
import { tlsCipherSuites, tlsCurves, tlsVersions } from './tls-names.ts';

interface FixedValueField {
  readonly name: string;
  readonly value: string;
  readonly values: readonly string[];
}

function checkFixedValue({ name, value, values }: FixedValueField): string[] {
  return values.includes(value) ? [] : [invalid(`option "${value}" specified for ${name}. Valid options are ${quotedList(values)}`)];
}

export const checkFixedValues: ValidationRule = ({ config: c }) => [
  ...[
    {
      name: 'topologyManagerPolicy (--topology-manager-policy)',
      value: c.topologyManagerPolicy,
      values: ['none', 'best-effort', 'restricted', 'single-numa-node'],
    },
    { name: 'topologyManagerScope (--topology-manager-scope)', value: c.topologyManagerScope, values: ['container', 'pod'] },
    { name: 'hairpinMode (--hairpin-mode)', value: c.hairpinMode, values: ['none', 'hairpin-veth', 'promiscuous-bridge'] },
    { name: 'memoryReservationPolicy', value: c.memoryReservationPolicy, values: ['None', 'TieredReservation'] },
    { name: 'cgroupDriver (--cgroup-driver)', value: c.cgroupDriver, values: ['cgroupfs', 'systemd'] },
    { name: 'authorization.mode (--authorization-mode)', value: c.authorization.mode, values: ['AlwaysAllow', 'Webhook'] },
    { name: 'cpuManagerPolicy (--cpu-manager-policy)', value: c.cpuManagerPolicy, values: ['none', 'static'] },
    { name: 'memoryManagerPolicy (--memory-manager-policy)', value: c.memoryManagerPolicy, values: ['None', 'Static'] },
    {
      name: 'configMapAndSecretChangeDetectionStrategy',
      value: c.configMapAndSecretChangeDetectionStrategy,
      values: ['Get', 'Cache', 'Watch'],
    },
    { name: 'tlsMinVersion (--tls-min-version)', value: c.tlsMinVersion, values: ['', ...tlsVersions] },
  ].flatMap(checkFixedValue),
  ...c.tlsCipherSuites
    .filter((suite) => !tlsCipherSuites.has(suite))
    .map((suite) => invalid(`Cipher suite ${suite} not supported or doesn't exist (tlsCipherSuites, --tls-cipher-suites)`)),
  ...checkCurves(c.tlsCurvePreferences),
  ...c.allowedUnsafeSysctls
    .map(checkSysctlPattern)
    .filter((complaint) => complaint !== null)
    .map((complaint) => invalid(`allowedUnsafeSysctls: ${complaint}`)),
  ...collectErrors(
    [c.runOnce, `runOnce (--runonce) ${c.runOnce}, Runonce mode has been deprecated and should not be set`],
    [c.containerRuntimeEndpoint === '', 'the containerRuntimeEndpoint was not specified or empty'],
    ...(['containerRuntimeEndpoint', 'imageServiceEndpoint'] as const).map(
      (name) => [!isSocket(c[name]), `${name} "${c[name]}": only support unix socket endpoint`] as const,
    ),
    [
      c.systemCgroups !== '' && c.cgroupRoot === '',
      `systemCgroups (--system-cgroups) ${c.systemCgroups} was specified and cgroupRoot (--cgroup-root) was not specified`,
    ],
    ...(
      [
        ['syncFrequency', c.syncFrequency],
        ['fileCheckFrequency', c.fileCheckFrequency],
        ['httpCheckFrequency', c.httpCheckFrequency],
      ] as const
    ).map(([name, period]) => [period < 0, `${name} ${formatDuration(period)} must not be negative`] as const),
  ),
];

/** A path without a scheme is deprecated; upstream logs a warning. */
function isSocket(endpoint: string): boolean {
  return endpoint === '' || endpoint.startsWith('/') || endpoint.startsWith('unix://');
}

function checkCurves(curves: readonly number[]): string[] {
  return curves.flatMap((id, index) => {
    if (id < 1 || id > 65535) return [invalid(`tlsCurvePreferences: curve preference ${id} is out of range (must be 1-65535)`)];
    if (curves.indexOf(id) < index) return [invalid(`tlsCurvePreferences: duplicate curve preference ${id}`)];
    return tlsCurves.has(id) ? [] : [invalid(`tlsCurvePreferences: curve preference ${id} is not supported`)];
  });
}
