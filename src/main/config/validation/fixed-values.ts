/** Rules for fields with a fixed set of values. Upstream rejects some of these only when the component that reads them starts. */
import { checkSysctlPattern } from '../../../shared/kubernetes/sysctls.ts';
import { formatDuration } from '../../../shared/kubernetes/duration.ts';
import { quotedList, collectErrors, invalidConfiguration, type ValidationRule } from './rules.ts';
import { tlsCipherSuites, tlsCurves, tlsVersions } from './tls-names.ts';

interface FixedValueField {
  readonly name: string;
  readonly value: string;
  readonly values: readonly string[];
}

function checkFixedValue({ name, value, values }: FixedValueField): string[] {
  return values.includes(value)
    ? []
    : [invalidConfiguration(`option "${value}" specified for ${name}. Valid options are ${quotedList(values)}`)];
}

export const checkFixedValues: ValidationRule = ({ config }) => [
  ...[
    {
      name: 'topologyManagerPolicy (--topology-manager-policy)',
      value: config.topologyManagerPolicy,
      values: ['none', 'best-effort', 'restricted', 'single-numa-node'],
    },
    { name: 'topologyManagerScope (--topology-manager-scope)', value: config.topologyManagerScope, values: ['container', 'pod'] },
    { name: 'hairpinMode (--hairpin-mode)', value: config.hairpinMode, values: ['none', 'hairpin-veth', 'promiscuous-bridge'] },
    { name: 'memoryReservationPolicy', value: config.memoryReservationPolicy, values: ['None', 'TieredReservation'] },
    { name: 'cgroupDriver (--cgroup-driver)', value: config.cgroupDriver, values: ['cgroupfs', 'systemd'] },
    { name: 'authorization.mode (--authorization-mode)', value: config.authorization.mode, values: ['AlwaysAllow', 'Webhook'] },
    { name: 'cpuManagerPolicy (--cpu-manager-policy)', value: config.cpuManagerPolicy, values: ['none', 'static'] },
    { name: 'memoryManagerPolicy (--memory-manager-policy)', value: config.memoryManagerPolicy, values: ['None', 'Static'] },
    {
      name: 'configMapAndSecretChangeDetectionStrategy',
      value: config.configMapAndSecretChangeDetectionStrategy,
      values: ['Get', 'Cache', 'Watch'],
    },
    { name: 'tlsMinVersion (--tls-min-version)', value: config.tlsMinVersion, values: ['', ...tlsVersions] },
  ].flatMap(checkFixedValue),
  ...config.tlsCipherSuites
    .filter((suite) => !tlsCipherSuites.has(suite))
    .map((suite) => invalidConfiguration(`Cipher suite ${suite} not supported or doesn't exist (tlsCipherSuites, --tls-cipher-suites)`)),
  ...checkCurves(config.tlsCurvePreferences),
  ...config.allowedUnsafeSysctls
    .map(checkSysctlPattern)
    .filter((complaint) => complaint !== null)
    .map((complaint) => invalidConfiguration(`allowedUnsafeSysctls: ${complaint}`)),
  ...collectErrors(
    [config.runOnce, `runOnce (--runonce) ${config.runOnce}, Runonce mode has been deprecated and should not be set`],
    [config.containerRuntimeEndpoint === '', 'the containerRuntimeEndpoint was not specified or empty'],
    ...(['containerRuntimeEndpoint', 'imageServiceEndpoint'] as const).map(
      (name) => [!isSocket(config[name]), `${name} "${config[name]}": only support unix socket endpoint`] as const,
    ),
    [config.systemCgroups === '/', 'system container cannot be root ("/")'],
    [
      config.systemCgroups !== '' && config.cgroupRoot === '',
      `systemCgroups (--system-cgroups) ${config.systemCgroups} was specified and cgroupRoot (--cgroup-root) was not specified`,
    ],
    ...(
      [
        ['syncFrequency', config.syncFrequency],
        ['fileCheckFrequency', config.fileCheckFrequency],
        ['httpCheckFrequency', config.httpCheckFrequency],
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
    if (id < 1 || id > 65535)
      return [invalidConfiguration(`tlsCurvePreferences: curve preference ${id} is out of range (must be 1-65535)`)];
    if (curves.indexOf(id) < index) return [invalidConfiguration(`tlsCurvePreferences: duplicate curve preference ${id}`)];
    return tlsCurves.has(id) ? [] : [invalidConfiguration(`tlsCurvePreferences: curve preference ${id} is not supported`)];
  });
}
