import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec, ResourceRequirements } from '../../../../src/shared/kubernetes/api.ts';
import { computeQosClass, qosClass } from '../../../../src/shared/kubernetes/qos-class.ts';
import { table } from '../../../support/table.ts';

function spec(resources: (ResourceRequirements | undefined)[], more: Partial<PodSpec> = {}): PodSpec {
  return { containers: resources.map((each, index) => ({ name: `c${index}`, ...(each ? { resources: each } : {}) })), ...more };
}
const full = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };

const cases: readonly { name: string; spec: PodSpec; want: string }[] = [
  { name: 'requests nothing', spec: spec([undefined]), want: 'BestEffort' },
  { name: 'requests only a device', spec: spec([{ limits: { 'example.com/gpu': '1' } }]), want: 'BestEffort' },
  { name: 'requests zero', spec: spec([{ requests: { cpu: '0' } }]), want: 'BestEffort' },
  { name: 'has equal requests and limits', spec: spec([full, full]), want: 'Guaranteed' },
  {
    name: 'writes equal amounts differently',
    spec: spec([{ requests: { cpu: '1000m', memory: '1024Mi' }, limits: full.limits }]),
    want: 'Guaranteed',
  },
  { name: 'limits one container only', spec: spec([full, undefined]), want: 'Burstable' },
  { name: 'limits memory only', spec: spec([{ requests: { memory: '1Gi' }, limits: { memory: '1Gi' } }]), want: 'Burstable' },
  {
    name: 'requests less than its limit',
    spec: spec([{ requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } }]),
    want: 'Burstable',
  },
  { name: 'has an init container without resources', spec: spec([full], { initContainers: [{ name: 'i' }] }), want: 'Burstable' },
  { name: 'has pod-level limits', spec: spec([undefined], { resources: full }), want: 'Guaranteed' },
  { name: 'has empty pod-level resources', spec: spec([full], { resources: {} }), want: 'Guaranteed' },
  { name: 'has pod-level requests', spec: spec([full], { resources: { requests: { cpu: '1' } } }), want: 'Burstable' },
];
table('the QoS class of a pod that', (row) => {
  for (const { name, spec, want } of cases) {
    row(`a pod that ${name} is ${want}`, () => assert.equal(computeQosClass(spec), want));
  }
});

test('a class set by the API server takes precedence', () => {
  assert.equal(qosClass({ spec: spec([undefined]), status: { qosClass: 'Burstable' } }), 'Burstable');
});
