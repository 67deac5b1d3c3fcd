/**
 * Formats PEM like Go's encoding/pem, because the kubelet compares certificate files byte for byte and replaces them when they
 * differ. Pure.
 */

/** Returns one block with lines of 64 characters and a final line feed. `base64` contains no line breaks. */
export function pemBlock(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;
}
