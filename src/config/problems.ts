/** Mistakes in the configuration: all of them at once, each with its place, and never with a secret in it. */
import { UserError } from '../core/user-error.ts'

/** `where`: the variable, or `deskmirror.yaml:7 projects.shop.rate`. `why`: what was found, and what is allowed. */
export type ConfigProblem = { readonly where: string; readonly why: string }

export class ConfigurationError extends UserError {
  readonly mistakes: readonly ConfigProblem[]
  constructor(mistakes: readonly ConfigProblem[]) {
    super({
      what:
        mistakes.length === 1 ? 'the configuration has a mistake' : `the configuration has ${mistakes.length} mistakes`,
      why: mistakes.map(({ where, why }) => `${where} ${why}`).join('\n'),
      next: '`deskmirror check` explains what is needed and where it comes from',
      exitCode: 2,
    })
    this.name = 'ConfigurationError'
    this.mistakes = mistakes
  }
}
