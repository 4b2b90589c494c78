/**
 * One number for everything that a run has done. It changes with every event, so two runs that have
 * the same one after an event are the same up to there, and nothing needs to be kept to find where
 * they part.
 */

/** Values that an event consists of: what a statement or JSON may hold. */
export type Event = readonly unknown[]

/** `digests`: after each event. `events`: null if they need not be kept. */
export type Recording = { readonly digests: number[]; readonly events: Event[] | null }

export function createRecording(keepsEvents: boolean): Recording {
  return { digests: [], events: keepsEvents ? [] : null }
}

const float = new Float64Array(1)
const words = new Int32Array(float.buffer)

/** Statements are long texts, and the same few over and over: each is mixed once. */
const longTexts = new Map<string, number>()
const maxLongTexts = 5000

function digestOfLongText(text: string): number {
  const known = longTexts.get(text)
  if (known !== undefined) return known
  if (longTexts.size === maxLongTexts) longTexts.clear()
  const { mixText, digest } = createMixer()
  mixText(text)
  longTexts.set(text, digest())
  return digest()
}

function createMixer() {
  let [left, right] = [1, 2]

  const mix = (word: number) => {
    left = Math.imul(left ^ word, 0x85ebca6b)
    right = Math.imul(right ^ word, 0xc2b2ae35)
    // A product carries changes into higher bits only; this takes them back into the lower ones.
    left ^= right >>> 15
    right ^= left >>> 13
  }
  const mixText = (text: string) => {
    mix(text.length)
    // Two characters at once. Beyond the end there is NaN, which counts as 0.
    for (let n = 0; n < text.length; n += 2)
      mix(text.charCodeAt(n) | (text.charCodeAt(n + 1) << 16))
  }
  const mixNumber = (number: number) => {
    float[0] = number
    mix(words[0] ?? 0)
    mix(words[1] ?? 0)
  }
  return { mixText, mixNumber, digest: () => (left >>> 0) * 2 ** 21 + (right >>> 11) }
}

export function createDigest(recording: Recording | null = null) {
  const { mixText, mixNumber, digest } = createMixer()
  const mixValue = (value: unknown) => {
    if (typeof value === 'string' && value.length > 200) mixNumber(digestOfLongText(value))
    else if (typeof value === 'string') mixText(value)
    else if (typeof value === 'number') mixNumber(value)
    else if (typeof value !== 'object' || value === null) mixText(String(value))
    else for (const name in value) mixValue((value as Readonly<Record<string, unknown>>)[name])
  }
  return {
    add: (event: Event) => {
      for (const value of event) mixValue(value)
      recording?.digests.push(digest())
      recording?.events?.push(event)
    },
    digest,
  }
}

export function formatDigest(digest: number): string {
  return digest.toString(16).padStart(14, '0')
}
