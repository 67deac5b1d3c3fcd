import assert from 'node:assert/strict';
import type { Container } from '../../../../src/shared/kubernetes/api.ts';
import { shouldRestartContainer, type RestartGates } from '../../../../src/shared/kubernetes/restart-policy.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';
import { defaultRestartGates } from '../../../support/pods/status-features.ts';

const rule = (action: string, operator: string, ...values: number[]) => ({ action, exitCodes: { operator, values } });
const restart = rule('Restart', 'In', 42);
const restartAll = rule('RestartAllContainers', 'In', 42);
const off: RestartGates = { containerRestartRules: false, restartAllContainersOnContainerExits: false };
const noRestartAll: RestartGates = { ...defaultRestartGates, restartAllContainersOnContainerExits: false };

interface Case {
  readonly pod: 'Always' | 'OnFailure' | 'Never';
  readonly own?: string;
  readonly rules?: Container['restartPolicyRules'];
  readonly exitCode: number;
  readonly gates?: RestartGates;
  readonly want: boolean;
}

const cases: readonly Case[] = [
  ...[0, 1].flatMap((exitCode): Case[] => [
    { pod: 'Always', exitCode, want: true },
    { pod: 'Never', exitCode, want: false },
    { pod: 'OnFailure', exitCode, want: exitCode === 1 },
    // The container's own policy replaces the pod's.
    { pod: 'Never', own: 'Always', exitCode, want: true },
    { pod: 'Always', own: 'Never', exitCode, want: false },
    { pod: 'Never', own: 'OnFailure', exitCode, want: exitCode === 1 },
    { pod: 'Never', own: 'Always', exitCode, gates: off, want: false },
  ]),
  { pod: 'Always', own: 'Never', rules: [restart], exitCode: 42, want: true },
  { pod: 'Always', own: 'Never', rules: [restart], exitCode: 41, want: false },
  { pod: 'Never', own: 'Never', rules: [rule('Restart', 'NotIn', 1, 2)], exitCode: 3, want: true },
  { pod: 'Never', own: 'Never', rules: [rule('Restart', 'NotIn', 1, 2)], exitCode: 2, want: false },
  { pod: 'Never', own: 'OnFailure', rules: [rule('Restart', 'In', 7)], exitCode: 1, want: true },
  // Rules without an own policy have no effect.
  { pod: 'Never', rules: [restart], exitCode: 42, want: false },
  { pod: 'Never', own: 'Never', rules: [restart], exitCode: 42, gates: off, want: false },
  { pod: 'Never', own: 'Never', rules: [restartAll], exitCode: 42, want: true },
  { pod: 'Never', own: 'Never', rules: [restartAll], exitCode: 42, gates: noRestartAll, want: false },
  { pod: 'Never', own: 'Never', rules: [rule('Panic', 'In', 42)], exitCode: 42, want: false },
  // The first rule that matches decides.
  { pod: 'Never', own: 'Never', rules: [rule('Panic', 'In', 42), restart], exitCode: 42, want: false },
  { pod: 'Never', own: 'Never', rules: [rule('Restart', 'Between', 42)], exitCode: 42, want: false },
  { pod: 'Never', own: 'Never', rules: [{ action: 'Restart' }], exitCode: 42, want: false },
];

table('a container restarts by its rules, its policy and its pod’s policy', (row) => {
  for (const { pod, own, rules, exitCode, gates = defaultRestartGates, want } of cases) {
    const container = aContainer({ ...(own && { restartPolicy: own }), ...(rules && { restartPolicyRules: rules }) });
    const name = JSON.stringify({ pod, own, rules, exitCode, ...gates });
    row(name, () => assert.equal(shouldRestartContainer(container, aPod({ spec: { restartPolicy: pod } }).spec, exitCode, gates), want));
  }
});
