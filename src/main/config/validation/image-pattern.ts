/** The syntax of preloadedImagesVerificationAllowlist (upstream: pkg/kubelet/images/pullmanager). */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { parseImageName } from '../../../shared/kubernetes/image-name.ts';

/** Throws unless the pattern is a repository name or a prefix of one that ends in `/*`. */
export function checkImagePattern(pattern: string): void {
  if (pattern !== pattern.trim()) throw new Error(`leading/trailing spaces are not allowed: ${pattern}`);
  const isWildcard = pattern.endsWith('/*');
  const literal = isWildcard ? pattern.slice(0, -1) : pattern;
  if (literal === '') throw new Error(`the supplied pattern is too short: ${pattern}`);
  if (literal.includes('*')) throw new Error(`not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`);
  if (literal === '/') throw new Error('at least registry hostname is required');
  if (!isWildcard) checkRepository(literal);
}

function checkRepository(name: string): void {
  try {
    parseImageName(name);
  } catch (err) {
    throw new Error(`failed to parse as an image name: ${messageOf(err)}`, { cause: err });
  }
  const lastComponent = name.slice(name.lastIndexOf('/') + 1);
  if (/[:@]/.test(lastComponent)) throw new Error(`neither tag nor digest is accepted in an image reference: ${name}`);
}
