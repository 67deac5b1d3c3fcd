/**
 * Resolves plain YAML scalars like go-yaml v2, which all Kubernetes tools use: YAML 1.1 without base-60 numbers and timestamps. `yes` and
 * `on` are booleans, `0644` is octal.
 */
import type { ScalarTag, TagId } from 'yaml';

const tag = (name: string) => `tag:yaml.org,2002:${name}`;

const nullTag: ScalarTag = { tag: tag('null'), default: true, test: /^(?:~|null|Null|NULL|)$/, resolve: () => null };

const truePattern = /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const boolTag: ScalarTag = {
  tag: tag('bool'),
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: (text) => truePattern.test(text),
};

/** Accepts the base prefixes of Go's ParseInt; a leading zero means octal. `08` does not match and resolves to a float, as in Go. */
const intTag: ScalarTag = {
  tag: tag('int'),
  default: true,
  test: /^[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)$/,
  resolve: (text) => {
    const [, sign, digits = ''] = /^([-+]?)(.*)$/.exec(text.replaceAll('_', '')) ?? [];
    const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
    return sign === '-' ? -value : value;
  },
};

const floatTag: ScalarTag = {
  tag: tag('float'),
  default: true,
  test: /^[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$/,
  resolve: (text) => Number(text.replaceAll('_', '')),
};

/** JSON has no such numbers, so a field with one has the wrong type. */
const notANumberTag: ScalarTag = {
  tag: tag('float'),
  default: true,
  test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  resolve: (text) => (/n$/i.test(text) ? NaN : text.startsWith('-') ? -Infinity : Infinity),
};

export const goYamlTags: (ScalarTag | TagId)[] = [nullTag, boolTag, intTag, floatTag, notANumberTag, 'merge'];
