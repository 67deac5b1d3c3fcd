/** The texts that name the release, and no other one. */
import { minorOf } from '../../src/shared/kubernetes/version.ts';

/** Relative to the project. */
export const releaseTexts: readonly string[] = ['README.md', 'docs/architecture.md', 'docs/decisions/030-package.md', 'package.json'];

/**
 * Returns the text with each release of Kubernetes replaced by this one: `v1.37.2`, `v1.37`, and the package's `kubelet (= 1.37.2)`.
 * Other versions have other forms: Kubernetes' minor release has two digits and a v.
 * @param version `v1.37.2`
 */
export function nameRelease(text: string, version: string): string {
  return text
    .replaceAll(/\bv1\.\d{2}\.\d+\b/g, version)
    .replaceAll(/\bv1\.\d{2}\b(?!\.\d)/g, `v${minorOf(version)}`)
    .replaceAll(/\bkubelet \(= 1\.\d{2}\.\d+\)/g, `kubelet (= ${version.slice(1)})`);
}
