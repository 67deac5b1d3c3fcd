/** src/shared/kubernetes/version.ts is the one place that names the release: everything else that names one agrees with it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from '../../../support/table.ts';
import { requiredVersion } from '../../../../scripts/host/programs/go-build.ts';
import { kubernetesModules, stagingVersion } from '../../../../scripts/upstream/go-modules.ts';
import { kubernetesMinor, kubernetesVersion } from '../../../../src/shared/kubernetes/version.ts';

const project = join(import.meta.dirname, '../../../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');

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

table('a text names no other release', (row) => {
  for (const file of ['README.md', 'docs/architecture.md', 'package.json']) {
    row(file, () => {
      const named = new Set(read(file).match(/\bv1\.\d{2}(?:\.\d+)?\b/g));
      assert.ok(named.size > 0);
      for (const version of named) assert.ok([kubernetesVersion, `v${kubernetesMinor}`].includes(version), version);
    });
  }
  row('docs/decisions/030-package.md', () =>
    assert.match(read('docs/decisions/030-package.md'), new RegExp(`kubelet \\(= ${kubernetesVersion.slice(1)}\\)`)),
  );
});
