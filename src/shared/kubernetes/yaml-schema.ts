/**
 * Resolves plain YAML scalars like go-yaml v2, which all Kubernetes tools use (resolve.go of go.yaml.in/yaml/v2): YAML 1.1 without base-60 numbers and
 * timestamps. `yes` and `on` are booleans, `0644` is octal. For manifests, configuration files and kubeconfigs.
 */
import { isScalar, type DocumentOptions, type ParseOptions, type ScalarTag, type SchemaOptions } from 'yaml';

const tag = (name: string) => `tag:yaml.org,2002:${name}`;

const nullTag: ScalarTag = { tag: tag('null'), default: true, test: /^(?:~|null|Null|NULL|)$/, resolve: () => null };

const truePattern = /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const boolTag: ScalarTag = {
  tag: tag('bool'),
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: (text) => truePattern.test(text),
};

const maxUint64 = (1n << 64n) - 1n;
/** 64 binary digits with their prefix, and some zeros. The time to parse a longer number grows faster than its length. */
const maxIntegerDigits = 80;

/** Accepts the base prefixes of Go's ParseInt; a leading zero means octal. `08` does not match and resolves to a float, as in Go. */
const intTag: ScalarTag = {
  tag: tag('int'),
  default: true,
  test: /^[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)$/,
  resolve: (text) => {
    const plain = text.replaceAll('_', '');
    const [, sign, digits = ''] = /^([-+]?)(.*)$/.exec(plain) ?? [];
    const isLong = digits.length > maxIntegerDigits;
    const magnitude = isLong ? maxUint64 + 1n : BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
    if (sign === '-' ? magnitude <= 1n << 63n : magnitude <= maxUint64) return Number(sign === '-' ? -magnitude : magnitude);
    // In Go, a number that does not fit is a float if its digits are decimal, and otherwise text.
    return /^\d+$/.test(digits) ? Number(plain) : text;
  },
};

const floatTag: ScalarTag = {
  tag: tag('float'),
  default: true,
  test: /^[-+]?(?:\.[0-9]+(?:_[0-9]+)*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$/,
  resolve: (text) => {
    const value = Number(text.replaceAll('_', ''));
    return Number.isFinite(value) ? value : text;
  },
};

/** JSON has no such numbers, so a field with one has the wrong type. */
const notANumberTag: ScalarTag = {
  tag: tag('float'),
  default: true,
  test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  resolve: (text) => (/n$/i.test(text) ? NaN : text.startsWith('-') ? -Infinity : Infinity),
};

const binaryTag: ScalarTag = {
  tag: tag('binary'),
  resolve: (text, onError) => {
    const base64 = text.replaceAll(/\s/g, '');
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('base64') !== base64) onError('!!binary value contains invalid base64 data');
    return bytes.toString();
  },
};

/** Options for a document. Values with other tags (`!!timestamp`, `!!set`) are what they are without the tag. */
export const goYamlOptions = {
  schema: 'failsafe',
  customTags: (tags) => [...tags, nullTag, boolTag, intTag, floatTag, notANumberTag, binaryTag, 'merge'],
  resolveKnownTags: false,
  merge: true,
  uniqueKeys: false,
  logLevel: 'silent',
} satisfies ParseOptions & DocumentOptions & SchemaOptions;

/** Returns why the key of a map has no form in JSON. Undefined: it has one. */
export function mapKeyProblem(key: unknown): string | undefined {
  if (key === null || (isScalar(key) && key.value === null)) return 'unsupported map key: null';
  return isScalar(key) ? undefined : 'invalid map key: it is no scalar';
}
