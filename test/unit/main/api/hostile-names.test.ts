/** Names from outside the kubelet can't add a condition to a field selector or a segment to a path. */
import assert from 'node:assert/strict';
import { apiPath } from '../../../../src/main/api/api-client.ts';
import { fieldEquals, fieldNotEquals } from '../../../../src/main/api/field-selector.ts';
import { table } from '../../../support/table.ts';

table('a value of a field selector is escaped', (row) => {
  const values: Readonly<Record<string, string>> = {
    'node-1.example': 'node-1.example',
    'a,metadata.name!=b': String.raw`a\,metadata.name!\=b`,
    'a=b': String.raw`a\=b`,
    [String.raw`a\,b`]: String.raw`a\\\,b`,
    '': '',
  };
  for (const [value, escaped] of Object.entries(values)) {
    row(`${value} with =`, () => assert.equal(fieldEquals('metadata.name', value), `metadata.name=${escaped}`));
    row(`${value} with !=`, () => assert.equal(fieldNotEquals('metadata.name', value), `metadata.name!=${escaped}`));
  }
});

table('a segment of a path is encoded', (row) => {
  row('a query and a fragment', () => assert.equal(apiPath('api', 'v1', 'a?b#c&d=e'), '/api/v1/a%3Fb%23c%26d%3De'));
  row('a line break and a space', () => assert.equal(apiPath('a\r\nb c'), '/a%0D%0Ab%20c'));
  row('names with dots', () => assert.equal(apiPath('...', '.a'), '/.../.a'));
});

table('a segment that is not a valid object name is rejected', (row) => {
  for (const name of ['', '.', '..', 'a/b', '../../kube-system/secrets/s', '%2e%2e', 'a%2fb', '\ud800']) {
    row(JSON.stringify(name), () => assert.throws(() => apiPath('api', 'v1', 'secrets', name), { code: 0, reason: 'Invalid' }));
  }
});
