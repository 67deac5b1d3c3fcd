import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { CriError, grpcCode } from '../../../../../src/shared/cri/cri-error.ts';
import { checkpointLocation, parseCheckpointTimeout } from '../../../../../src/workers/server/streaming/checkpoint.ts';
import { forwardedHeaders, hasRequestBody } from '../../../../../src/workers/server/streaming/forwarded-headers.ts';
import { toGoErrorText, toStreamErrorStatus } from '../../../../../src/workers/server/streaming/go-error.ts';
import {
  isUpgradeRequest,
  parsePortForwardPorts,
  parseRemoteCommandOptions,
} from '../../../../../src/workers/server/streaming/stream-options.ts';
import { table } from '../../../../support/table.ts';

const commandCases: { query: string; want: unknown }[] = [
  { query: 'output=1', want: { stdin: false, stdout: true, stderr: false, tty: false } },
  { query: 'input=1&output=1&error=1', want: { stdin: true, stdout: true, stderr: true, tty: false } },
  { query: 'input=1&output=1&error=1&tty=1', want: { stdin: true, stdout: true, stderr: false, tty: true } },
  { query: 'tty=1&error=1', want: 'you must specify at least 1 of stdin, stdout, stderr' },
  { query: '', want: 'you must specify at least 1 of stdin, stdout, stderr' },
  { query: 'output=true&stdout=1', want: 'you must specify at least 1 of stdin, stdout, stderr' },
];
table('the streams of a command', (row) => {
  for (const { query, want } of commandCases) {
    row(`the streams of "${query}"`, () => assert.deepEqual(parseRemoteCommandOptions(new URLSearchParams(query)), want));
  }
});

const webSocket = { connection: 'keep-alive, Upgrade', upgrade: 'WebSocket' };
const portCases: { query: string; headers?: IncomingHttpHeaders; want: unknown }[] = [
  { query: '', headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' }, want: [] },
  { query: '', headers: {}, want: [] },
  { query: 'port=80', want: [80] },
  { query: 'port=80,443&port=8080', want: [80, 443, 8080] },
  { query: '', want: 'query parameter "port" is required' },
  { query: 'port=', want: 'query parameter "port" cannot be empty' },
  { query: 'port=0', want: 'port "0" must be > 0' },
  { query: 'port=80,x', want: 'unable to parse "80,x" as a port: strconv.ParseUint: parsing "x": invalid syntax' },
  { query: 'port=65536', want: 'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range' },
  { query: 'port=-1', want: 'unable to parse "-1" as a port: strconv.ParseUint: parsing "-1": invalid syntax' },
];
table('the ports of a port forward', (row) => {
  for (const { query, headers = webSocket, want } of portCases) {
    row(`the ports of "${query}"`, () => assert.deepEqual(parsePortForwardPorts(headers, new URLSearchParams(query)), want));
  }
});

test('a request is an upgrade request by its Connection header', () => {
  assert.deepEqual(
    [isUpgradeRequest({}), isUpgradeRequest({ connection: 'keep-alive' }), isUpgradeRequest({ connection: 'upgrade' })],
    [false, false, true],
  );
});

test('only headers of the stream protocols are forwarded to the runtime', () => {
  const headers = forwardedHeaders(
    {
      host: ['node:10250'],
      authorization: ['Bearer secret'],
      cookie: ['a=b'],
      connection: ['Upgrade, X-Evil'],
      'transfer-encoding': ['chunked'],
      'content-length': ['5'],
      upgrade: ['SPDY/3.1'],
      'x-stream-protocol-version': ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
      'x-forwarded-for': ['10.0.0.1'],
      'user-agent': ['kubectl'],
    },
    { host: '127.0.0.1:9', peer: '10.0.0.2' },
  );
  assert.deepEqual(headers, {
    Host: '127.0.0.1:9',
    Connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
    'user-agent': 'kubectl',
    'X-Forwarded-For': '10.0.0.1, 10.0.0.2',
  });
});

test('a request body is recognized by either of two headers', () => {
  const bodies = [{}, { 'content-length': '0' }, { 'content-length': '1' }, { 'content-length': 'x' }, { 'transfer-encoding': 'chunked' }];
  assert.deepEqual(bodies.map(hasRequestBody), [false, false, true, true, true]);
});

const errorCases: { name: string; err: unknown; want: string }[] = [
  { name: 'unknown container', err: new CriError('Exec', grpcCode.NOT_FOUND, 'no c'), want: '404 rpc error: code = NotFound desc = no c' },
  {
    name: 'too many requests',
    err: new CriError('Exec', grpcCode.RESOURCE_EXHAUSTED, 'x'),
    want: '429 rpc error: code = ResourceExhausted desc = x',
  },
  { name: 'down', err: new CriError('Exec', grpcCode.UNAVAILABLE, 'x'), want: '500 rpc error: code = Unavailable desc = x' },
  { name: 'something else', err: new Error('x'), want: '500 x' },
];
table('the status and text of a runtime error', (row) => {
  for (const { name, err, want } of errorCases) {
    row(`a runtime's error: ${name}`, () => assert.equal(`${toStreamErrorStatus(err)} ${toGoErrorText(err)}`, want));
  }
});

test('a checkpoint is named after pod, container and time', () => {
  const target = { namespace: 'ns', pod: 'web', container: 'app' };
  const location = checkpointLocation('/var/lib/kubelet/checkpoints', target, Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  assert.equal(location, '/var/lib/kubelet/checkpoints/checkpoint-web_ns-app-2026-01-02T03:04:05Z.tar');
});

test('the last timeout parameter of a checkpoint is used', () => {
  const timeout = (query: string) => parseCheckpointTimeout(new URLSearchParams(query));
  assert.deepEqual(['', 'timeout=5', 'timeout=x&timeout=-7', 'timeout=x', 'timeout='].map(timeout), [0, 5, -7, null, null]);
});
