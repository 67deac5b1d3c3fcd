/** Rules for the policy options of the CPU and topology managers (upstream: policy_options.go of each, which rejects them at start). */
import type { FeatureGates } from '../feature-gates.ts';
import type { StringMap } from '../kubelet-configuration.ts';
import { collectErrors, invalidConfiguration, type ValidationRule } from './rules.ts';

const cpuOptions: Readonly<Record<string, { gate?: string; level?: string }>> = {
  'full-pcpus-only': {},
  'strict-cpu-reservation': {},
  'prefer-align-cpus-by-uncorecache': {},
  'distribute-cpus-across-numa': { gate: 'CPUManagerPolicyBetaOptions', level: 'Beta' },
  'align-by-socket': { gate: 'CPUManagerPolicyAlphaOptions', level: 'Alpha' },
  'distribute-cpus-across-cores': { gate: 'CPUManagerPolicyAlphaOptions', level: 'Alpha' },
};
const exclusiveCpuOptions = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
] as const;
/** Upstream's default for max-allowable-numa-nodes, which can only be raised. */
const minNUMANodes = 8;
/** The inputs that Go's strconv.ParseBool accepts. */
const trueTexts = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const falseTexts = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

function checkCpuOption(name: string, value: string, gates: FeatureGates): string[] {
  const option = Object.hasOwn(cpuOptions, name) ? cpuOptions[name] : undefined;
  const field = 'cpuManagerPolicyOptions (--cpu-manager-policy-options)';
  if (!option) return [invalidConfiguration(`${field}: unknown CPU Manager Policy option: "${name}"`)];
  return collectErrors(
    [
      option.gate !== undefined && !gates.enabled(option.gate),
      `${field}: CPU Manager Policy ${option.level}-level Options not enabled, but option "${name}" provided`,
    ],
    [!isBool(value), `${field}: bad value for option "${name}": "${value}" is neither true nor false`],
  );
}

function checkTopologyOption(name: string, value: string): string[] {
  const field = 'topologyManagerPolicyOptions (--topology-manager-policy-options)';
  if (name === 'prefer-closest-numa-nodes') {
    return collectErrors([!isBool(value), `${field}: bad value for option "${name}": "${value}" is neither true nor false`]);
  }
  if (name !== 'max-allowable-numa-nodes') return [invalidConfiguration(`${field}: unknown Topology Manager Policy option: "${name}"`)];
  if (!/^[-+]?[0-9]+$/.test(value))
    return [invalidConfiguration(`${field}: unable to convert policy option to integer "${name}": "${value}"`)];
  return collectErrors([
    Number(value) < minNUMANodes,
    `${field}: the minimum value of "${name}" should not be less than ${minNUMANodes}, got ${value}`,
  ]);
}

function isBool(text: string): boolean {
  return trueTexts.includes(text) || falseTexts.includes(text);
}

export const checkPolicyOptions: ValidationRule = ({ config, gates }) => {
  const isOptionEnabled = (options: StringMap, name: string): boolean => trueTexts.includes(options[name] ?? '');
  return [
    ...Object.entries(config.cpuManagerPolicyOptions).flatMap(([name, value]) => checkCpuOption(name, value, gates)),
    ...exclusiveCpuOptions
      .filter((pair) => pair.every((name) => isOptionEnabled(config.cpuManagerPolicyOptions, name)))
      .map(([a, b]) =>
        invalidConfiguration(`cpuManagerPolicyOptions: static policy options ${a} and ${b} can not be used at the same time`),
      ),
    ...Object.entries(config.topologyManagerPolicyOptions).flatMap(([name, value]) => checkTopologyOption(name, value)),
  ];
};
