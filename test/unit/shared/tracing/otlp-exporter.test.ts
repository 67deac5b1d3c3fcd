import assert from 'node:assert/strict';
import { toTarget } from '../../../../src/shared/tracing/otlp-exporter.ts';
import { table } from '../../../support/table.ts';

const endpoints: { name: string; endpoint: string; want: string }[] = [
  { name: 'a host and port as they are', endpoint: 'collector.example:4317', want: 'collector.example:4317' },
  { name: 'a name of DNS as it is', endpoint: 'dns:///collector.example:4317', want: 'dns:///collector.example:4317' },
  { name: 'a socket’s path as it is', endpoint: 'unix:///run/otlp.sock', want: 'unix:///run/otlp.sock' },
  { name: 'an abstract socket by its name', endpoint: 'unix-abstract:otlp', want: 'unix:\0otlp' },
  { name: 'an abstract socket as Go reads a path', endpoint: 'unix-abstract:///otlp', want: 'unix:\0/otlp' },
];
table('the exporter reaches', (row) => {
  for (const { name, endpoint, want } of endpoints) row(name, () => assert.equal(toTarget(endpoint), want));
});
