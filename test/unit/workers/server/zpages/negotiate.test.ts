import assert from 'node:assert/strict';
import { negotiateForm } from '../../../../../src/workers/server/zpages/negotiate.ts';
import { table } from '../../../../support/table.ts';

const cases: [accept: string | undefined, want: object][] = [
  [undefined, { type: 'text' }],
  [' ', { type: 'text' }],
  ['*/*', { type: 'text' }],
  ['text/html, text/plain;q=0.5', { type: 'text' }],
  ['application/json', { type: 'none' }],
  ['application/json;v=v1beta1;g=config.k8s.io;as=Statusz', { type: 'json', version: 'v1beta1' }],
  ['application/yaml; g=config.k8s.io; v=v1alpha1; as=Statusz', { type: 'yaml', version: 'v1alpha1' }],
  ['application/json;v=v1beta1;g=config.k8s.io;as=Flagz', { type: 'none' }],
  ['application/json;v=v1beta1;g=config.k8s.io;as=Statusz;q=0.5, text/plain', { type: 'text' }],
  ['text/plain;q=0.1, application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz;q=0.9', { type: 'yaml', version: 'v1beta1' }],
  ['application/*;v=v1beta1;g=config.k8s.io;as=Statusz', { type: 'json', version: 'v1beta1' }],
  ['*/*;as=Statusz', { type: 'none' }],
  ['application/json;v=v2;g=config.k8s.io;as=Statusz,text/*', { type: 'text' }],
];
table('the format for an Accept header', (row) => {
  for (const [accept, want] of cases) {
    row(`Accept: ${accept} gives ${JSON.stringify(want)}`, () => assert.deepEqual(negotiateForm(accept, 'Statusz'), want));
  }
});
