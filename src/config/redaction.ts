/** What of a setting may be printed. A secret can stand anywhere by mistake, so whatever may be one is not repeated. */

/** The values of these are never repeated: they may carry a password that no pattern finds. */
const neverPrinted = new Set([
  'database_url',
  'queue_url',
  'base_url',
  'widget_url',
  'api_key',
  'webhook_secret',
  'http_token',
])

/** The end of the sentence about a setting. `allowed` of a setting that is never shown is a whole predicate. */
export function describeProblem(key: string, found: unknown, allowed: string): string {
  if (found === undefined) return `is missing: ${allowed.replace(/^must be /, '')}`
  if (neverPrinted.has(key)) return allowed
  const text = redactValue(found)
  return text === null ? `is not valid (its value is not repeated here): ${allowed}` : `is ${text}: ${allowed}`
}

/** Null: it may hold a secret. */
export function redactValue(value: unknown): string | null {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a map'
  const text = String(value)
  return mayBeSecret(text) ? null : `"${text}"`
}

/** A name that somebody chose: of a setting, a variable, a project. `…` where it may be a secret. */
export function redactName(name: string): string {
  return mayBeSecret(name) ? '…' : name
}

/** Whether a variable's name looks like one: `SHOP_KEY`. */
export function isVariableName(text: string): boolean {
  return /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(text) && !mayBeSecret(text)
}

/** An absolute path, one that begins with a folder, or a YAML file: what somebody put into the place of a path may be the secret itself. */
export function isPlainPath(text: string): boolean {
  return /^(\/|\.\.?\/|~\/|[A-Za-z]:[\\/])|\.ya?ml$/.test(text) && !mayBeSecret(text)
}

/** An API key of the service, wherever it stands in the text. */
export function containsApiKey(text: string): boolean {
  return /svc_[a-z]+_/i.test(text)
}

const maxPrintedLength = 80

/** An address, a key, or letters and digits in a row that no person would choose as a name. */
export function mayBeSecret(text: string): boolean {
  if (text.length > maxPrintedLength || containsApiKey(text) || /.@|\n|:\/\//.test(text)) return true
  return text.split(/[^A-Za-z0-9+=]+/).some((run) => run.length >= 16 && /[0-9+=]/.test(run) && /[A-Za-z]/.test(run))
}
