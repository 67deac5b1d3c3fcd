import assert from 'node:assert/strict';
import { negotiate } from '../../../../../src/shared/metrics/exposition/negotiate.ts';
import { table } from '../../../../support/table.ts';

const protobuf = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';
const text = 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores';
const sentProtobuf = 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=';
/** The header of Prometheus 3 with native histograms. */
const prometheus3 =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';

const rows: readonly (readonly [string | undefined, string])[] = [
  [undefined, text],
  ['', text],
  ['*/*', text],
  ['application/openmetrics-text;version=1.0.0', text],
  [protobuf, `${sentProtobuf}underscores`],
  [` ${protobuf.replaceAll(';', ' ; ').replaceAll('=', ' = ')} `, `${sentProtobuf}underscores`],
  [prometheus3, `${sentProtobuf}allow-utf-8`],
  [`text/plain;q=0.5, ${protobuf};q=0.4`, text],
  [`text/plain;q=0.4, ${protobuf};q=0.5`, `${sentProtobuf}underscores`],
  [`${protobuf};q=0.5, text/plain;version=0.0.4`, text],
  [`text/plain;version=1.0.0, ${protobuf};q=0.1`, `${sentProtobuf}underscores`],
  [`${protobuf};escaping=values`, `${sentProtobuf}values`],
  [`${protobuf};escaping=dots`, `${sentProtobuf}underscores`],
  [`${protobuf};escaping="`, `${sentProtobuf}underscores`],
  ['application/vnd.google.protobuf', text],
  ['application/vnd.google.protobuf;proto=other;encoding=delimited', text],
  [protobuf.replace('delimited', 'text'), text],
  [`${protobuf};q=x, text/plain;q=0.1`, text],
  [',;,=;q=,///,', text],
];

table('formats of metrics', (row) => {
  for (const [accept, want] of rows) row(`${accept} gets ${want}`, () => assert.equal(negotiate(accept).contentType, want));
});
