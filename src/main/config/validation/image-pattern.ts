/** Patterns of images that were there before the kubelet (upstream: pkg/kubelet/images/pullmanager; the grammar of distribution/reference). */

const component = '[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*';
const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = String.raw`(?:${domainPart}(?:\.${domainPart})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`;
const name = `(?:${domain}/)?${component}(?:/${component})*`;
const tag = String.raw`[\w][\w.-]{0,127}`;
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^(${name})(?::(${tag}))?(?:@(${digest}))?$`);
const maxNameLength = 255;

/** A repository's name, or a prefix of one that ends in `/*`. Throws with what is wrong. */
export function checkImagePattern(pattern: string): void {
  if (pattern !== pattern.trim()) throw new Error(`leading/trailing spaces are not allowed: ${pattern}`);
  const isWildcard = pattern.endsWith('/*');
  const literal = isWildcard ? pattern.slice(0, -1) : pattern;
  if (literal === '') throw new Error(`the supplied pattern is too short: ${pattern}`);
  if (literal.includes('*')) throw new Error(`not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`);
  if (isWildcard) {
    if (literal === '/') throw new Error('at least registry hostname is required');
    return;
  }
  const [, repository = '', tagged, digested] = literal.length <= 4 * maxNameLength ? (reference.exec(literal) ?? []) : [];
  if (repository === '' || repository.length > maxNameLength)
    throw new Error(`failed to parse as an image name: invalid reference format: ${pattern}`);
  if (tagged !== undefined || digested !== undefined) {
    throw new Error(`neither tag nor digest is accepted in an image reference: ${pattern}`);
  }
}
