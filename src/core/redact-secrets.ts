/** Removes these texts, and whatever looks like a live key, whether it is configured or not. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((value) => value.length >= 4)
  return known.reduce(
    (safe, value) => safe.replaceAll(value, '[secret]'),
    text.replace(/svc_[a-z]+_[\w-]+/g, '[secret]'),
  )
}
