/** Explains any thrown error to people, and maps it to an exit code. */
import {
  ApiError,
  describeFailure,
  explainBudgetFailure,
  proxyProblemOf,
} from '../service/core/api-failure.ts'
import { toPrintable } from '../values/format.ts'
import { redactSecrets } from '../values/secret.ts'
import { errorCode, systemErrorText, UserError } from '../values/user-error.ts'

/** `stack` is set for bugs only. */
export type ErrorExplanation = {
  readonly what: string
  readonly why: string
  readonly next: string
  readonly exitCode: ExitCode
  readonly stack?: string
}

/** Redacts what looks like a key, or like the credentials of an address, whoever wrote the text. */
export function explainError(error: unknown): ErrorExplanation {
  const { what, why, next, exitCode, stack } = toExplanation(error)
  const redact = (text: string) => redactSecrets(text, []).replace(/:\/\/[^\s"]{0,300}@/g, '://…@')
  const redacted = { what: redact(what), why: redact(why), next: redact(next), exitCode }
  return stack === undefined ? redacted : { ...redacted, stack: redact(stack) }
}

function toExplanation(error: unknown): ErrorExplanation {
  if (error instanceof UserError) {
    const { what, why, next, exitCode } = error
    return { what, why, next, exitCode }
  }
  if (error instanceof ApiError) return explainCallFailure(error)
  return explainSystemError(error) ?? explainBug(error)
}

/** `deskmirror: what: why`; several reasons take a line each; then what to do. */
export function renderError(
  { what, why, next, stack }: ErrorExplanation,
  withStack: boolean,
): string[] {
  const [reason = '', ...others] = why.split('\n').map(toPrintable)
  const head = `deskmirror: ${toPrintable(what)}`
  return [
    ...(others.length === 0
      ? [`${head}: ${reason}`]
      : [head, ...[reason, ...others].map((line) => `  ${line}`)]),
    ...(next === '' ? [] : [`  → ${toPrintable(next)}`]),
    ...(withStack && stack !== undefined ? [stack] : []),
  ]
}

function explainCallFailure(error: ApiError): ErrorExplanation {
  const { failure } = error
  const ofBudget = explainBudgetFailure(failure)
  if (ofBudget !== null) return ofBudget
  const what = 'the service did not answer as it should'
  if (failure.kind === 'aborted')
    return { what: 'stopped', why: describeFailure(failure), next: '', exitCode: 1 }
  const proxy = proxyProblemOf(failure)
  if (proxy !== null) {
    const exitCode = proxy.needsPerson ? 2 : 1
    return { what, why: describeFailure(failure), next: proxy.next, exitCode }
  }
  const needsPerson = failure.kind === 'denied' || failure.kind === 'refused'
  const next = needsPerson ? '`deskmirror check` says what the key may do' : 'try again later'
  return { what, why: describeFailure(failure), next, exitCode: needsPerson ? 2 : 1 }
}

/** A refusal by the system is not a bug of deskmirror. */
function explainSystemError(error: unknown): ErrorExplanation | undefined {
  if (!(error instanceof Error)) return undefined
  if (/^E[MN]FILE$/.test(errorCode(error))) return outOfFiles
  const text = systemErrorText(error)
  if (text === undefined || !('syscall' in error)) return undefined
  if (error.syscall === 'uv_cwd') {
    const next = 'change into a folder that is there'
    return { what: 'cannot work in this folder', why: 'it was removed', next, exitCode: 2 }
  }
  const where = 'path' in error ? `${error.path}` : `what is needed (${error.syscall})`
  return { what: `cannot use ${where}`, ...text }
}

const outOfFiles: ErrorExplanation = {
  what: 'cannot open enough files',
  why: 'this process or this machine has reached its limit of open files',
  next: 'raise the limit: `ulimit -n 1024` in a shell, LimitNOFILE= in a systemd unit',
  exitCode: 2,
}

function explainBug(error: unknown): ErrorExplanation {
  const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const next = 'please report this, with what DESKMIRROR_LOG_LEVEL=debug prints'
  const explanation = {
    what: 'this is a bug in deskmirror',
    why: toPrintable(why),
    next,
    exitCode: 1,
  } as const
  return error instanceof Error && error.stack !== undefined
    ? { ...explanation, stack: error.stack }
    : explanation
}

/**
 * 0 done · 1 failed, trying again may help · 2 a person must change something · 3 done, with gaps
 * or skipped streams.
 */
export type ExitCode = 0 | 1 | 2 | 3

/** The most severe first: what a person must change cannot be fixed by trying again. */
const bySeverity = [2, 1, 3, 0] as const

export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  return bySeverity.find((code) => codes.includes(code)) ?? 0
}
