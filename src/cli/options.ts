/** Options that several commands share, and the parsers of their values. */
import { InvalidArgumentError, Option } from 'commander'
import type { ProjectConfig } from '../config/config.ts'
import { type StreamName, streamNames } from '../core/streams.ts'

export const jsonOption = () => new Option('--json', 'print one JSON document instead of text')
export const projectOption = () => new Option('--project <name>', 'only this project of deskmirror.yaml')
/** For commands that handle one project. */
export const oneProjectOption = () =>
  new Option('--project <name>', 'which project; needed where deskmirror.yaml has several')
export const quietOption = () => new Option('--quiet', 'no progress and no log, only the answer and errors')
export const streamsOption = () => new Option('--streams <a,b>', 'only these streams').argParser(parseStreams)

export function parseStreams(text: string): readonly StreamName[] {
  const names = text.split(',').map((name) => name.trim())
  const known = streamNames.filter((name) => names.includes(name))
  const unknown = names.filter((name) => !known.some((stream) => stream === name))
  if (unknown.length === 0) return known
  throw new InvalidArgumentError(`${unknown.join(', ')}: choose from ${streamNames.join(', ')}.`)
}

export function parseWholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Write a whole number.')
}

/** The streams of `--streams`, or else those that the project mirrors. */
export function selectStreams(
  project: ProjectConfig,
  requested: readonly StreamName[] | undefined,
): readonly StreamName[] {
  return requested === undefined ? project.streams : requested
}
