/** src/shared/kubernetes/version.ts is the one place that names the release: everything else that names one agrees with it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { table } from '../../../support/table.ts';
import { requiredVersion } from '../../../../lab/programs/go-build.ts';
import { findTidyProblems, kubernetesModules, stagingVersion } from '../../../../scripts/upstream/go-modules.ts';
import { nameRelease, releaseTexts } from '../../../../scripts/upstream/release-texts.ts';
import { kubernetesVersion } from '../../../../src/shared/kubernetes/version.ts';

const project = join(import.meta.dirname, '../../../..');

table('a Go module requires this release, and its staging modules', (row) => {
  for (const module of kubernetesModules) {
    row(module.slice(project.length + 1), () => {
      assert.equal(requiredVersion(module, 'k8s.io/kubernetes'), kubernetesVersion);
      const replaced = [...readFileSync(join(module, 'go.mod'), 'utf8').matchAll(/^(?:\t|replace )(k8s\.io\/\S+) => \S+ (v\S+)$/gm)];
      assert.ok(replaced.length > 30);
      for (const [, name, version] of replaced) assert.equal(version, stagingVersion(kubernetesVersion), name ?? '');
    });
  }
});

table('a text names this release, and no other one', (row) => {
  for (const file of releaseTexts) {
    row(file, () => {
      const text = readFileSync(join(project, file), 'utf8');
      assert.notEqual(nameRelease(text, 'v1.99.9'), text);
      assert.equal(nameRelease(text, kubernetesVersion), text);
    });
  }
});

test('each form of a release is replaced, and no other version', () => {
  const text = (full: string) => `**v${full.slice(0, 4)}**, v${full}, kubelet (= ${full}), Go 1.26, busybox:1.37.0, v0.37.2, v1.2.3`;
  assert.equal(nameRelease(text('1.36.3'), 'v1.37.2'), text('1.37.2'));
});

const imports = 'go: cluster imports\n\texample.com/a tested by\n\texample.com/a.test imports\n\t';
const unavailable = `${imports}example.com/b: example.com/c@v0.37.2: reading https://example.com/c.mod: 403 Forbidden\n\tserver response: not available`;
const ambiguous = `${imports}example.com/b: ambiguous import: found package example.com/b in multiple modules:\n\texample.com/b v1\n\texample.com v2`;
test('tidying modules fails when something could not be read, and not for an ambiguous import of a test', () => {
  const output = ['go: downloading k8s.io/api v0.37.2', ambiguous, unavailable, 'go: finding module for package example.com/d', ''].join(
    '\n',
  );
  assert.deepEqual(findTidyProblems(output), [unavailable]);
  assert.deepEqual(findTidyProblems(`${ambiguous}\n`), []);
});
