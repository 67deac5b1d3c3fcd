import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  configMapKeyErrors,
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  dns1123SubdomainWithUnderscoreErrors,
  envVarNameErrors,
  httpHeaderNameErrors,
  labelKeyErrors,
  labelValueErrors,
  portNameErrors,
} from '../../../../src/shared/kubernetes/names.ts';
import { table } from '../../../support/table.ts';

type Form = (value: string) => string[];

const valid: readonly [form: Form, value: string][] = [
  [dns1123LabelErrors, 'a-1'],
  [dns1123SubdomainErrors, 'a.b-c.1'],
  [dns1123SubdomainWithUnderscoreErrors, '_tcp.example.com'],
  [labelKeyErrors, 'Example_1'],
  [labelKeyErrors, 'example.com/Name'],
  [labelValueErrors, ''],
  [portNameErrors, 'http-2'],
  [configMapKeyErrors, '.key_1'],
  [envVarNameErrors, 'odd name!'],
  [httpHeaderNameErrors, 'X-Header'],
];
table('a valid name has no errors', (row) => {
  for (const [form, value] of valid) {
    row(`${JSON.stringify(value)} has no ${form.name}`, () => assert.deepEqual(form(value), []));
  }
});

const invalid: readonly [form: Form, value: string, errors: readonly string[]][] = [
  [dns1123LabelErrors, 'a.b', ['must not contain dots']],
  [dns1123LabelErrors, 'a'.repeat(64), ['must be no more than 63 characters']],
  [dns1123SubdomainErrors, 'a'.repeat(10_000_000), ['must be no more than 253 characters']],
  [labelKeyErrors, '/a', ['prefix part must be non-empty']],
  [labelKeyErrors, `a/${'b'.repeat(64)}`, ['name part must be no more than 63 bytes']],
  [portNameErrors, '-1', ['must contain at least one letter (a-z)', 'must not begin or end with a hyphen']],
  [configMapKeyErrors, '..a', ["must not start with '..'"]],
  [envVarNameErrors, '', ['environment variable name must be non-empty']],
  [envVarNameErrors, 'é', ["a valid environment variable name must consist only of printable ASCII characters other than '='"]],
];
table('an invalid name has errors in Kubernetes’ wording', (row) => {
  for (const [form, value, errors] of invalid) {
    row(`${JSON.stringify(value.slice(0, 20))} has ${form.name}`, () => assert.deepEqual(form(value), errors));
  }
});

test("a pattern mismatch has the API's wording", () => {
  assert.deepEqual(dns1123LabelErrors('A'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
});
