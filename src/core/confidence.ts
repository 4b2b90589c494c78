/**
 * How often something happens at most, judged by a random sample: the exact upper limit of Clopper and Pearson (1934).
 *
 * It is the share p at which a sample of n would show at most k cases with a probability of 1 − confidence:
 * P(X ≤ k) = Σ i=0…k C(n, i) pⁱ (1 − p)ⁿ⁻ⁱ = 1 − confidence. Without a case it is 1 − (1 − confidence)^(1/n), which is
 * nearly 3/n at 95 % ("rule of three"). A sample without repetition from finitely many shows more than this assumes, so
 * that the limit then holds with more confidence than it says.
 */

/** `differing` of `sampled`, which were drawn at random. */
export type SampleCounts = { readonly sampled: number; readonly differing: number }

export const confidence = 0.95

/** The share that is exceeded with a probability of 1 − `level` at most; 1 without a sample. */
export function upperLimit({ sampled, differing }: SampleCounts, level = confidence): number {
  if (sampled <= differing) return 1
  if (differing === 0) return -Math.expm1(Math.log1p(-level) / sampled)
  const target = Math.log1p(-level)
  let [low, high] = [differing / sampled, 1]
  // The probability falls as the share grows. Ends where no number lies between the two.
  for (;;) {
    const middle = (low + high) / 2
    if (middle <= low || middle >= high) return high
    if (logProbabilityOfAtMost(differing, sampled, middle) > target) low = middle
    else high = middle
  }
}

/** The logarithm of P(X ≤ k), because the terms of a large sample are too small for a number. `share`: above 0, below 1. */
function logProbabilityOfAtMost(k: number, n: number, share: number): number {
  const logOdds = Math.log(share) - Math.log1p(-share)
  let term = n * Math.log1p(-share)
  let sum = term
  for (let i = 1; i <= k; i++) {
    term += Math.log((n - i + 1) / i) + logOdds
    const [large, small] = term > sum ? [term, sum] : [sum, term]
    sum = large + Math.log1p(Math.exp(small - large))
  }
  return sum
}

/** `cases` of `among`: never less than the share that it describes. */
export type Frequency = { readonly cases: number; readonly among: number }

/** The share rounded up to whole cases among a power of ten: to two digits, or to one if that makes no difference. */
export function toFrequency(share: number): Frequency {
  let among = 100
  while (share * among < 2 && among < 1e12) among *= 10
  let cases = Math.min(among, Math.ceil(share * among))
  while (cases % 10 === 0 && among > 100) {
    cases /= 10
    among /= 10
  }
  return { cases, among }
}
