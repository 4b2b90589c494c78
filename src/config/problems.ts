/** Problems in the configuration: all of them at once, each with its location, and never with a secret in it. */
import { UserError } from '../values/user-error.ts'

/** `where`: the variable, or `deskmirror.yaml:7 projects.shop.rate`. `why`: what is wrong, and what is allowed. */
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
      what: count === 1 ? 'the configuration has a problem' : `the configuration has ${count} problems`,
      why: problems.map(({ where, why }) => `${where} ${why}`).join('\n'),
      next: isNotConfigured(problems)
        ? '`deskmirror init` asks for what is missing and writes it down; `deskmirror check` explains it'
        : '`deskmirror check` explains what is needed and where it comes from',
      exitCode: 2,
    })
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/** Nothing describes a project: otherwise `init` would not touch what does. */
function isNotConfigured(problems: readonly ConfigProblem[]): boolean {
  const isMissing = (name: string) => problems.some(({ where, why }) => where === name && why.startsWith('is missing'))
  return isMissing('DESKMIRROR_BASE_URL') && isMissing('DESKMIRROR_PROJECT_ID')
}
