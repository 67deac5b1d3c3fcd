/** PEM, as Go's encoding/pem writes it: what lies in files is compared byte for byte, and replaced when it differs. Pure. */

/** One block, with lines of 64 characters and a line feed at the end. `base64` has no line breaks. */
export function pemBlock(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;
}
