import assert from 'node:assert/strict';
import { checkNodeLabels } from '../../../../../src/main/config/flags/node-labels.ts';
import { table } from '../../../../support/table.ts';

const cases: { name: string; labels: Record<string, string>; want: RegExp[] }[] = [
  { name: 'a label of another domain is allowed', labels: { 'example.com/zone': 'a', disk: 'ssd' }, want: [] },
  {
    name: 'Kubernetes’ labels for nodes are allowed',
    labels: { 'topology.kubernetes.io/zone': 'a', 'node.kubernetes.io/x': '', 'a.kubelet.kubernetes.io/y': 'z' },
    want: [],
  },
  {
    name: 'other labels of Kubernetes are rejected',
    labels: { 'kubernetes.io/role': 'a', 'x.k8s.io/b': 'c' },
    want: [/^unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: \[kubernetes.io\/role x.k8s.io\/b\]/],
  },
  {
    name: 'a malformed label is rejected',
    labels: { 'a b': 'c', d: '-e' },
    want: [/^invalid node labels: 'a b' - name part must.*; '-e' - a valid label must/],
  },
];
table('--node-labels are validated', (row) => {
  for (const { name, labels, want } of cases) {
    row(name, () => {
      const found = checkNodeLabels(labels);
      assert.equal(found.length, want.length);
      want.forEach((expression, index) => assert.match(found[index] ?? '', expression));
    });
  }
});
