/** What the service turned out to do, in sentences that need no glossary. Pure. */
import { formatSeconds } from '../../values/format.ts'
import { tryParseJson } from '../../values/json.ts'

/** What is learned, while it is not known, and what it is. `parameter`: which it is about. */
type Description = {
  readonly question: string
  readonly answer: (value: string, parameter: string) => string
}

/** A warehouse of another version, or from anywhere, may have other names and values. */
function createTable<Entry>(entries: Readonly<Record<string, Entry>>): ReadonlyMap<string, Entry> {
  return new Map(Object.entries(entries))
}

const asItIs = (fact: string, value: string) => `${fact.replaceAll('_', ' ')}: ${value}`

/** What a request with a time asks for, by its parameter. */
const askedBy: Readonly<Record<string, string>> = {
  since: 'rows since a time',
  from: 'rows from a time on',
  to: 'rows up to a time',
  before: 'rows before a time',
}
const asked = (parameter: string) => `Asked for ${askedBy[parameter]} (${parameter}), it`

const orders = createTable<(fields: string) => string>({
  ascending: (fields) => `It lists the oldest rows first, by ${fields}.`,
  descending: (fields) => `It lists the newest rows first, by ${fields}.`,
  'unknown way': (fields) =>
    `It sorts rows by ${fields}; whether the oldest or the newest come first is not known.`,
  'both ways': (fields) =>
    `It lists sometimes the oldest and sometimes the newest rows first, by ${fields}: the order is not used.`,
})

const support = createTable<(parameter: string) => string>({
  honoured: (name) =>
    name === 'limit'
      ? 'It sends as many rows as are asked for (limit).'
      : `It can be asked for ${askedBy[name]} (${name}).`,
  ignored: (name) =>
    name === 'limit'
      ? 'It sends as many rows as it chooses, whatever number is asked for (limit).'
      : `${asked(name)} sends the others, too.`,
  refused: (name) =>
    name === 'limit'
      ? 'Asked for a number of rows (limit), it answers with an error.'
      : `${asked(name)} answers with an error.`,
})

/** By the name of the fact without its stream; `*`: the parameter that it is about. */
const descriptions = createTable<Description>({
  order: {
    question: 'in which order it lists rows',
    answer: (value) => {
      const [, way = '', fields = ''] = /^(.+?) by (.+)$/.exec(value) ?? []
      return orders.get(way)?.(fields) ?? `It lists rows ${value}.`
    },
  },
  pages: {
    question: 'which rows it sends first when no time is asked for',
    answer: (end) => `Asked for no time, it sends the ${end.replace(' first', '')} rows first.`,
  },
  '*_pages': {
    question: 'which rows it sends first when a time is asked for',
    answer: (end, parameter) =>
      `${asked(parameter)} sends the ${end.replace(' first', '')} of them first.`,
  },
  '*_includes': {
    question: 'whether it sends rows of the very second that is asked for',
    answer: (is, parameter) =>
      `${asked(parameter)} ${is === 'true' ? 'sends' : 'leaves out'} those of that very second.`,
  },
  '*': {
    question: 'whether it can be asked for a part of its rows',
    answer: (value, parameter) => support.get(value)?.(parameter) ?? value,
  },
  has_more: {
    question: 'whether it is right when it says that more rows follow',
    answer: (value) =>
      value === 'exact'
        ? 'It says that more rows follow (hasMore) only where they do.'
        : 'It has said that more rows follow (hasMore) where none did.',
  },
  has_more_set: {
    question: 'whether it says that more rows follow',
    answer: () => 'It says when more rows follow (hasMore).',
  },
  bounds: {
    question: 'whether every request needs a first and a last time',
    answer: () => 'Every request needs a first and a last time.',
  },
  page_size: {
    question: 'how many rows a page may have without any missing after it',
    answer: (rows) =>
      `A test found no rows missing after a page of ${rows} rows, so pages of up to ${rows} rows ` +
      'are taken to be complete.',
  },
  listed_at_most: {
    question: 'whether it lists only so many rows',
    answer: (rows) =>
      rows === 'any number'
        ? 'It lists any number of rows: no limit is known.'
        : `It lists at most ${rows} rows without saying that others follow.`,
  },
  window: {
    question: 'how long a time may be asked for',
    answer: (seconds) =>
      `It can be asked for ${formatSeconds(Number(seconds))} at a time, and not for longer.`,
  },
  without_handled: {
    question: 'whether it lists handled and open conversations together',
    answer: (value) => {
      if (value === 'not all')
        return 'It leaves some out, so open and handled ones are asked for apart.'
      return value === 'handled ones'
        ? 'It lists handled ones together with open ones.'
        : 'It lists open and handled ones together.'
    },
  },
  handled_filter: {
    question: 'whether it lists all open ones',
    answer: (value) =>
      value === 'unreliable'
        ? 'Asked for the open ones, it leaves some out, so only a reconcile finds all that were handled.'
        : 'Whether it lists all open ones is tried again by the next sync.',
  },
  undated: {
    question: 'whether it lists rows without a time',
    answer: () =>
      'It lists rows without the time that it sorts by. Only a reconcile finds new ones of them.',
  },
  fields_by_id: {
    question: 'whether a row is the same when it is asked for by its id',
    answer: (value) => {
      const fields = tryParseJson(value)
      if (!Array.isArray(fields)) return asItIs('fields_by_id', value)
      return fields.length === 0
        ? 'A row is the same in a list and when it is asked for by its id.'
        : `A row that is asked for by its id differs from the list in ${fields.join(', ')}: not compared.`
    },
  },
  none: {
    question: 'what it answers where there is none',
    answer: () => 'Where there is none, it answers that it was not found (404).',
  },
  note_field: {
    question: 'in which field it takes the text of a note',
    answer: (field) => `It takes the text of a note in the field ${field}.`,
  },
  note_field_asked: {
    question: 'in which field it asks for the text of a note',
    answer: (field) => `It asked for the text of a note in the field ${field}.`,
  },
})

/** `of`: the stream, or what else it is about. A fact without a sentence is named as it is. */
export function describeBehaviour(
  name: string,
  value: string,
): { readonly of: string; readonly text: string } {
  const [of = '', fact = ''] = name.split('.')
  const [bound, parameter = '', rest] =
    /^(since|before|from|to|limit)(_pages|_includes|)$/.exec(fact) ?? []
  const known = descriptions.get(bound === undefined ? fact : `*${rest}`)
  const named = known ?? { question: fact, answer: () => asItIs(fact, value) }
  return {
    of: of === 'writebacks' ? 'write-backs' : of.replaceAll('_', ' '),
    text:
      value === 'unknown'
        ? `Not known at present: ${named.question}.`
        : named.answer(value, parameter),
  }
}
