import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../../src/shared/kubernetes/api.ts';
import { checkSysctlPattern, checkSysctls, defaultSysctls, normalizeSysctl } from '../../../../src/shared/kubernetes/sysctls.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const allowed = ['kernel.domainname', 'user.*', 'kernel.msg*', 'kernel.sem', 'net.core.*', 'fs.mqueue.*'];
const cases: readonly [sysctl: string, spec: Partial<PodSpec>, kernel: string, want: string | null][] = [
  ['net.ipv4.tcp_syncookies', {}, '6.1.0', null],
  ['net/ipv4/tcp_syncookies', {}, '6.1.0', null],
  ['net.ipv4.tcp_rmem', {}, '4.15.0-1-amd64', null],
  ['net.ipv4.tcp_rmem', {}, '4.14.9', 'forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted'],
  ['net.ipv4.ip_forward', {}, '6.1.0', 'forbidden sysctl: "net.ipv4.ip_forward" not allowlisted'],
  ['net.core.somaxconn', {}, '6.1.0', null],
  ['net.core.somaxconn', { hostNetwork: true }, '6.1.0', 'forbidden sysctl: "net.core.somaxconn" not allowed with host Net enabled'],
  ['kernel.msgmax', {}, '6.1.0', null],
  ['kernel.msgmax', { hostIPC: true }, '6.1.0', 'forbidden sysctl: "kernel.msgmax" not allowed with host IPC enabled'],
  ['kernel.shm_rmid_forced', { hostIPC: true }, '6.1.0', 'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled'],
  ['fs.mqueue.msg_max', { hostIPC: true }, '6.1.0', 'forbidden sysctl: "fs.mqueue.msg_max" not allowed with host IPC enabled'],
  ['kernel.sem', { hostNetwork: true }, '6.1.0', null],
  ['net.ipv4.tcp_slow_start_after_idle', {}, '4.15', null],
  ['net.ipv4.tcp_notsent_lowat', {}, '4.6', null],
  ['kernel.domainname', { hostNetwork: true, hostIPC: true }, '6.1.0', null],
  ['user.max_user_namespaces', { hostUsers: false }, '6.1.0', null],
  ['user.max_user_namespaces', {}, '6.1.0', 'forbidden sysctl: "user.max_user_namespaces" not allowed with host User enabled'],
];
table('allowed sysctls of a pod', (row) => {
  for (const [name, spec, kernel, want] of cases) {
    row(`sysctl ${name} on ${kernel} with ${JSON.stringify(spec)}: ${want ?? 'allowed'}`, () => {
      const pod = aPod({ spec: { ...spec, securityContext: { sysctls: [{ name, value: '1' }] } } });
      assert.equal(checkSysctls(pod, allowed, kernel), want);
    });
  }
});

test('a sysctl’s name is normalized to dots, like in sysctl.d', () => {
  assert.equal(normalizeSysctl('net/ipv4/conf/eno2.100/rp_filter'), 'net.ipv4.conf.eno2/100.rp_filter');
  assert.equal(normalizeSysctl('net.ipv4.conf.eno2/100.rp_filter'), 'net.ipv4.conf.eno2/100.rp_filter');
  assert.equal(normalizeSysctl('plain'), 'plain');
});

const patterns: readonly [pattern: string, want: RegExp | null][] = [
  ['net.core.*', null],
  ['net/core/somaxconn', null],
  ['kernel.msg*', null],
  ['kernel.shm_rmid_forced', null],
  ['fs.mqueue.*', null],
  ['vm.swappiness', /^the sysctls "vm.swappiness" are not known to be namespaced$/],
  ['kernel.*', /^the sysctls "kernel." are not known to be namespaced$/],
  ['*', /^the sysctls "" are not known to be namespaced$/],
  ['net.*.foo', /^sysctl "net.\*.foo" must have at most 253 characters and match regex /],
  ['', /^sysctl "" must have at most 253 characters/],
  [`net.${'a'.repeat(250)}`, /must have at most 253 characters/],
];
table('valid patterns of allowed unsafe sysctls', (row) => {
  for (const [pattern, want] of patterns) {
    row(`the pattern ${pattern.slice(0, 30)} is ${want ? 'invalid' : 'valid'} in allowedUnsafeSysctls`, () => {
      const error = checkSysctlPattern(pattern);
      if (want) assert.match(error ?? '', want);
      else assert.equal(error, null);
    });
  }
});

const defaults = {
  'net/ipv4/ip_forward': '1',
  'kernel.shmall': '5',
  'fs.mqueue.msg_max': '6',
  'user.max_user_namespaces': '7',
  'kernel.domainname': 'here',
};
const defaultCases: readonly [spec: Partial<PodSpec>, want: string[]][] = [
  [{}, ['net.ipv4.ip_forward', 'kernel.shmall', 'fs.mqueue.msg_max', 'kernel.domainname']],
  [{ hostUsers: false }, ['net.ipv4.ip_forward', 'kernel.shmall', 'fs.mqueue.msg_max', 'user.max_user_namespaces', 'kernel.domainname']],
  [{ hostNetwork: true }, ['kernel.shmall', 'fs.mqueue.msg_max']],
  [{ hostIPC: true }, ['net.ipv4.ip_forward', 'kernel.domainname']],
];
table('the default sysctls of a pod are those of its own namespaces', (row) => {
  for (const [spec, want] of defaultCases) {
    row(JSON.stringify(spec), () => assert.deepEqual(Object.keys(defaultSysctls(defaults, aPod({ spec }))), want));
  }
});
