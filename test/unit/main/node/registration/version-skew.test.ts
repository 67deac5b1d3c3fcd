import assert from 'node:assert/strict';
import { computeVersionSkew, readVersionSkew } from '../../../../../src/main/node/registration/version-skew.ts';
import { FakeApi } from '../../../../support/api-server/fake-api.ts';
import { aLogger } from '../../../../support/logger.ts';
import { table } from '../../../../support/table.ts';

const older = 'The API server (v1.36.3) is older than this kubelet (v1.37.2): upgrade the control plane first';
const newer = 'The API server (v1.41.0) is more than 3 minor releases newer than this kubelet (v1.37.2): upgrade the kubelet';

const cases: { name: string; server: unknown; want: string | null }[] = [
  { name: 'the same release', server: 'v1.37.2', want: null },
  { name: 'another patch release', server: 'v1.37.0', want: null },
  { name: 'a test release of the next version', server: 'v1.38.0-alpha.1.12+abcdef', want: null },
  { name: 'three releases newer', server: 'v1.40.9', want: null },
  { name: 'four releases newer', server: 'v1.41.0', want: newer },
  { name: 'the release before', server: 'v1.36.3', want: older },
  { name: 'a distribution', server: 'v1.36.3+k3s1', want: older.replace('v1.36.3', 'v1.36.3+k3s1') },
  { name: 'no version', server: undefined, want: null },
  { name: 'a version of another type', server: { minor: 36 }, want: null },
  { name: 'another major version', server: 'v2.1.0', want: null },
  { name: 'a long version', server: `v1.36.${'3'.repeat(10_000)}`, want: older.replace('v1.36.3', `v1.36.${'3'.repeat(94)}`) },
];

table('an API server of', (row) => {
  for (const { name, server, want } of cases) row(name, () => assert.equal(computeVersionSkew(server, 'v1.37.2'), want));
});

const read = (answer: unknown) =>
  readVersionSkew({
    client: new FakeApi().on('GET', '/version', answer),
    deadlineMs: 1000,
    signal: new AbortController().signal,
    logger: aLogger().logger,
  });

table('the version of the API server', (row) => {
  row('is read', async () => assert.match((await read({ gitVersion: 'v1.2.0' })) ?? '', /older/));
  row('is unknown when the API server fails', async () => assert.equal(await read(new Error('refused')), null));
  row('is unknown in an answer without a body', async () => assert.equal(await read(null), null));
});
