/** The 128-bit FNV-1a hash of Go's hash/fnv. */

/**
 * The state is six limbs of 22 bits (the sixth has 18 bits). The prime is 2^88 + 315, and 88 bits are four limbs. A multiplication by the
 * prime is a multiplication by 315, which fits in 32 bits, plus the state shifted by four limbs.
 */
const limbBits = 22;
const limbMask = (1 << limbBits) - 1;
const topMask = (1 << (128 - 5 * limbBits)) - 1;
const primeLow = 315;
const offsetBasis = 0x6c62272e07bb014262b821756295c58dn;

export class Fnv128a {
  readonly #limbs = Array.from({ length: 6 }, (_, index) => Number((offsetBasis >> BigInt(index * limbBits)) & BigInt(limbMask)));

  update(bytes: Uint8Array): void {
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = this.#limbs;
    for (let index = 0; index < bytes.length; index += 1) {
      const low = a ^ (bytes[index] ?? 0);
      const second = b;
      a = low * primeLow;
      b = b * primeLow + (a >>> limbBits);
      c = c * primeLow + (b >>> limbBits);
      d = d * primeLow + (c >>> limbBits);
      e = e * primeLow + (d >>> limbBits) + low;
      f = f * primeLow + (e >>> limbBits) + second;
      a &= limbMask;
      b &= limbMask;
      c &= limbMask;
      d &= limbMask;
      e &= limbMask;
      f &= topMask;
    }
    this.#limbs.splice(0, 6, a, b, c, d, e, f);
  }

  /** Returns 32 hex digits. */
  digest(): string {
    const hash = this.#limbs.reduce((sum, limb, index) => sum + (BigInt(limb) << BigInt(index * limbBits)), 0n);
    return hash.toString(16).padStart(32, '0');
  }
}
