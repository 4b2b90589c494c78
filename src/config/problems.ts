/**
 * Problems in the configuration: all at once, each with its location. A secret can be anywhere by
 * mistake, so nothing that may be one is repeated.
 */
import { UserError } from '../values/user-error.ts'

/**
 * `where`: the variable, or `deskmirror.yaml:7 projects.shop.rate`. `why`: what is wrong, and what
 * is allowed.
 */
export type ConfigProblem = { readonly where: string; readonly why: string }

/** Nobody reads more at once, and one mistake can make every later line wrong. */
export const maxProblems = 20
const moreProblems: ConfigProblem = { where: 'more problems', why: 'follow; fix these first' }

export class ConfigurationError extends UserError {
  readonly problems: readonly ConfigProblem[]
  constructor(found: readonly ConfigProblem[]) {
    const hasMore = found.length > maxProblems
    const problems = hasMore ? [...found.slice(0, maxProblems), moreProblems] : found
    const count = hasMore ? `more than ${maxProblems}` : found.length
    super({
      what:
        count === 1 ? 'the configuration has a problem' : `the configuration has ${count} problems`,
      why: problems.map(({ where, why }) => `${where} ${why}`).join('\n'),
      next: isNotConfigured(problems)
        ? '`deskmirror init` asks for what is missing and writes it ' +
          'down; `deskmirror check` explains it'
        : '`deskmirror check` explains what is needed and where it comes from',
      exitCode: 2,
    })
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/** Nothing describes a project: otherwise `init` would not touch what does. */
function isNotConfigured(problems: readonly ConfigProblem[]): boolean {
  const missing = firstMissing(problems)
  return missing.includes('DESKMIRROR_BASE_URL') && missing.includes('DESKMIRROR_PROJECT_ID')
}

const firstSettings = ['DESKMIRROR_BASE_URL', 'DESKMIRROR_PROJECT_ID', 'DESKMIRROR_API_KEY']

/** Those of the settings with which a single project begins. */
export function firstMissing(problems: readonly ConfigProblem[]): readonly string[] {
  return problems
    .filter(({ where, why }) => firstSettings.includes(where) && why.startsWith('is missing'))
    .map(({ where }) => where)
}

/** The end of the sentence about a setting. For a sensitive one, `allowed` is a whole predicate. */
export function describeProblem(found: unknown, allowed: string, isSensitive: boolean): string {
  if (found === undefined) return `is missing: ${allowed.replace(/^must be /, '')}`
  if (isSensitive) return allowed
  const text = redactValue(found)
  return text === null
    ? `is not valid (its value is not repeated here): ${allowed}`
    : `is ${text}: ${allowed}`
}

/** Null: it may be a secret. */
export function redactValue(value: unknown): string | null {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a map'
  const text = String(value)
  return mayBeSecret(text) ? null : `"${text}"`
}

/** A user-chosen name of a setting, variable or project; `…` if it may be a secret. */
export const redactName = (name: string): string => (mayBeSecret(name) ? '…' : name)

/** Whether the text looks like a variable's name: `SHOP_KEY`. */
export function isVariableName(text: string): boolean {
  return /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(text) && !mayBeSecret(text)
}

/** Clearly a path (absolute, with a leading folder, a YAML file), and no secret by mistake. */
export function isPlainPath(text: string): boolean {
  return /^(\/|\.\.?\/|~\/|[A-Za-z]:[\\/])|\.ya?ml$/.test(text) && !mayBeSecret(text)
}

export const containsApiKey = (text: string): boolean => /svc_[a-z]+_/i.test(text)

const maxPrintedLength = 80

/** It may be a secret: an address, a key, or letters mixed with digits that look random. */
export function mayBeSecret(text: string): boolean {
  if (text.length > maxPrintedLength || containsApiKey(text) || /.@|\n|:\/\//.test(text))
    return true
  return text
    .split(/[^A-Za-z0-9+=]+/)
    .some((run) => run.length >= 16 && /[0-9+=]/.test(run) && /[A-Za-z]/.test(run))
}
