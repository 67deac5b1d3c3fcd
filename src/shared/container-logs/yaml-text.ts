/**
 * Decodes the text of a YAML file: UTF-16 if the file begins with a byte order mark of UTF-16, otherwise UTF-8 (go.yaml.in/yaml/v2: readerc.go). The mark is
 * not part of the text. Throws a TypeError for other bytes.
 */
export function decodeYamlText(bytes: Uint8Array): string {
  return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
