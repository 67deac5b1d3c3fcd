import assert from 'node:assert/strict';
import { resolveAction, type Probe } from '../../../../src/main/probes/resolve-action.ts';
import type { ProbeAction } from '../../../../src/shared/contracts/probes.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';
import { kubernetesMinor } from '../../../../src/shared/kubernetes/version.ts';

const ports = [{ name: 'web', containerPort: 8080 }];
const env = [
  { name: 'FILE', value: '/tmp/ok' },
  { name: 'SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
];
const defaultHeaders = [
  { name: 'User-Agent', value: `kube-probe/${kubernetesMinor}` },
  { name: 'Accept', value: '*/*' },
];
const container = aContainer({ ports, env });
const off = { H2CContainerProbe: false, GRPCContainerProbeTLS: false };

table('a probe becomes the action that the thread executes, or a problem in upstream’s words', (row) => {
  const rows: [name: string, probe: Probe, want: ProbeAction | null, podIP?: string | null][] = [
    [
      'a command with literal values',
      { exec: { command: ['cat', '$(FILE)', '$(SECRET)$(NONE)$$(FILE)'] } },
      { type: 'exec', command: ['cat', '/tmp/ok', '$(NONE)$(FILE)'] },
    ],
    ['a command needs no IP', { exec: { command: ['true'] } }, { type: 'exec', command: ['true'] }, null],
    [
      'HTTP without fields',
      { httpGet: { port: 80 } },
      { type: 'http', scheme: 'http', host: '10.0.0.7', port: 80, path: '/', headers: defaultHeaders },
    ],
    [
      'HTTP with all fields',
      { httpGet: { scheme: 'HTTPS', host: 'example.com', port: 'web', path: '/ok?a=1', httpHeaders: [{ name: 'X-A', value: 'b' }] } },
      {
        type: 'http',
        scheme: 'https',
        host: 'example.com',
        port: 8080,
        path: '/ok?a=1',
        headers: [{ name: 'X-A', value: 'b' }, ...defaultHeaders],
      },
    ],
    ['HTTP waits for the IP', { httpGet: { port: 80 } }, null, null],
    [
      'HTTP to a host does not',
      { httpGet: { port: 80, host: 'h' } },
      { type: 'http', scheme: 'http', host: 'h', port: 80, path: '/', headers: defaultHeaders },
      null,
    ],
    ['TCP', { tcpSocket: { port: 'web' } }, { type: 'tcp', host: '10.0.0.7', port: 8080 }],
    ['TCP to a host', { tcpSocket: { port: 99, host: '127.0.0.1' } }, { type: 'tcp', host: '127.0.0.1', port: 99 }],
    ['TCP waits for the IP', { tcpSocket: { port: 80 } }, null, null],
    ['gRPC', { grpc: { port: 5000 } }, { type: 'grpc', host: '10.0.0.7', port: 5000, service: '' }],
    ['gRPC with a service', { grpc: { port: 5000, service: 'live' } }, { type: 'grpc', host: '10.0.0.7', port: 5000, service: 'live' }],
    ['an unknown port name', { httpGet: { port: 'nope' } }, { type: 'invalid', message: 'port "nope" not found' }],
    ['an empty port name', { tcpSocket: { port: '' } }, { type: 'invalid', message: 'port "" not found' }],
    ['a port out of range', { tcpSocket: { port: 70_000 } }, { type: 'invalid', message: 'invalid port number: 70000' }],
    ['port 0', { grpc: { port: 0 } }, { type: 'invalid', message: 'invalid port number: 0' }],
    ['no handler', {}, { type: 'invalid', message: 'missing probe handler for web_default(uid-web):app' }],
  ];
  for (const [name, probe, want, podIP = '10.0.0.7'] of rows) {
    row(name, () => assert.deepEqual(resolveAction(probe, { container, pod: aPod(), podIP: podIP ?? undefined, gates: off }), want));
  }
  row('a command that grows without limit', () => {
    const big = [{ name: 'BIG', value: 'x'.repeat(1 << 20) }];
    const action = resolveAction(
      { exec: { command: ['$(BIG)'.repeat(20)] } },
      { container: aContainer({ env: big }), pod: aPod(), podIP: undefined, gates: off },
    );
    assert.equal(action?.type, 'invalid');
  });
});

table('HTTP/2 without TLS and gRPC with TLS need their gates', (row) => {
  const protocolOf = (probe: Probe, gates: Partial<typeof off> = {}) => {
    const action = resolveAction(probe, { container, pod: aPod(), podIP: '10.0.0.7', gates: { ...off, ...gates } });
    return action?.type === 'http' ? (action.protocol ?? 'HTTP1') : action?.type === 'grpc' ? (action.tls ?? 'Plaintext') : action;
  };
  const http2 = { httpGet: { port: 80, protocol: 'HTTP2' } };
  const tls = { grpc: { port: 80, mode: 'TLS' } };
  const rows: [name: string, probe: Probe, gates: Partial<typeof off>, want: string | true][] = [
    ['HTTP2', http2, { H2CContainerProbe: true }, 'HTTP2'],
    ['HTTP2 without the gate', http2, { GRPCContainerProbeTLS: true }, 'HTTP1'],
    ['HTTP1', { httpGet: { port: 80, protocol: 'HTTP1' } }, { H2CContainerProbe: true }, 'HTTP1'],
    ['TLS', tls, { GRPCContainerProbeTLS: true }, true],
    ['TLS without the gate', tls, { H2CContainerProbe: true }, 'Plaintext'],
    ['Plaintext', { grpc: { port: 80, mode: 'Plaintext' } }, { GRPCContainerProbeTLS: true }, 'Plaintext'],
  ];
  for (const [name, probe, gates, want] of rows) row(name, () => assert.equal(protocolOf(probe, gates), want));
});
