/**
 * Parses image names: `[domain/]repository[:tag][@digest]`. The grammar is the distribution project's reference grammar, as in
 * upstream's parsers.ParseImageName. The kubelet reports an invalid name as InvalidImageName, not as a failed pull.
 */
export interface ImageName {
  /** Includes the domain: `docker.io/library/busybox`. */
  readonly repository: string;
  /** `latest` when the name has neither tag nor digest. Empty when the name has only a digest. */
  readonly tag: string;
  readonly digest: string;
}

class ImageNameError extends Error {
  override readonly name = 'ImageNameError';
  constructor(image: string, problem: string) {
    super(`couldn't parse image name ${JSON.stringify(image)}: ${problem}`);
  }
}

const label = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const domain = `(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const tag = '[\\w][\\w.-]{0,127}';
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const reference = new RegExp(`^(${domain}/${component}(?:/${component})*)(?::(${tag}))?(?:@(${digest}))?$`);
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
const maxRepositoryLength = 255;
/**
 * No longer name is accepted: the repository, `:` and the tag, `@` and the digest, for which 512 is more than any supported algorithm needs. The
 * regular expression never runs on a longer string.
 */
const maxLength = maxRepositoryLength + 1 + 128 + 1 + 512;

/** Throws ImageNameError with the cause. */
export function parseImageName(image: string): ImageName {
  if (/^[a-f0-9]{64}$/.test(image))
    throw new ImageNameError(image, `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  if (image.length > maxLength) throw new ImageNameError(image.slice(0, 100), 'repository name must not be more than 255 characters');
  const { domain: host, remainder } = splitDomain(image);
  const path = remainder.split(':', 1)[0] ?? '';
  if (path.toLowerCase() !== path && !path.includes('@')) {
    throw new ImageNameError(image, `invalid reference format: repository name (${path}) must be lowercase`);
  }
  const match = reference.exec(`${host}/${remainder}`);
  if (!match) throw new ImageNameError(image, 'invalid reference format');
  const [, repository = '', foundTag = '', foundDigest = ''] = match;
  if (repository.length - host.length - 1 > maxRepositoryLength) {
    throw new ImageNameError(image, 'repository name must not be more than 255 characters');
  }
  if (foundDigest !== '') checkDigest(image, foundDigest);
  return { repository, tag: foundTag === '' && foundDigest === '' ? 'latest' : foundTag, digest: foundDigest };
}

/** The first path component is a host only when it cannot be a repository of the default registry. */
function splitDomain(image: string): { domain: string; remainder: string } {
  const slash = image.indexOf('/');
  const firstComponent = image.slice(0, Math.max(slash, 0));
  const isHost =
    slash >= 0 && (/[.:]/.test(firstComponent) || firstComponent === 'localhost' || firstComponent.toLowerCase() !== firstComponent);
  const host = !isHost || firstComponent === 'index.docker.io' ? 'docker.io' : firstComponent;
  const remainder = isHost ? image.slice(slash + 1) : image;
  return { domain: host, remainder: host === 'docker.io' && !remainder.includes('/') ? `library/${remainder}` : remainder };
}

function checkDigest(image: string, value: string): void {
  const [algorithm = '', hex = ''] = value.split(':');
  const length = digestLengths[algorithm];
  if (length === undefined) throw new ImageNameError(image, 'unsupported digest algorithm');
  if (hex.length !== length) throw new ImageNameError(image, 'invalid checksum digest length');
  if (hex.toLowerCase() !== hex) throw new ImageNameError(image, 'invalid checksum digest format');
}

/**
 * Returns the name to send to the runtime: with the tag `latest` when the name has neither tag nor digest, otherwise unchanged. A
 * short name stays short, because the runtime chooses its registry. Throws ImageNameError.
 */
export function withDefaultTag(image: string): string {
  const parsed = parseImageName(image);
  return parsed.digest === '' && !image.endsWith(`:${parsed.tag}`) ? `${image}:${parsed.tag}` : image;
}
