/** A page as Markdown. Charts appear as their tables. */
import { toPrintable } from '../values/format.ts'
import type { Block, Page, PagePart, Section, Table } from './page.ts'

export function renderMarkdown({ title, parts }: Page): string {
  const body = parts.flatMap((part) => renderPart(part, parts.length > 1))
  // A single part says what the page is about.
  const heading = parts.length > 1 ? [`# ${escapeMarkdown(title)}`] : []
  return `${[...heading, ...body].join('\n\n')}\n`
}

function renderPart({ title, notes, sections }: PagePart, isOneOfSeveral: boolean): string[] {
  const level = isOneOfSeveral ? '##' : '#'
  return [
    `${level} ${escapeMarkdown(title)}`,
    ...(notes.length === 0 ? [] : [notes.map(escapeMarkdown).join('\\\n')]),
    ...sections.flatMap((section) => renderSection(section, `${level}#`)),
  ]
}

function renderSection({ title, blocks }: Section, level: string): string[] {
  return [`${level} ${escapeMarkdown(title)}`, ...blocks.map(renderBlock)]
}

function renderBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return escapeMarkdown(block.text)
    case 'list':
      return block.items.map((item) => `- ${escapeMarkdown(item)}`).join('\n')
    case 'table':
    case 'chart':
      return renderTable(block.table)
  }
}

function renderTable({ caption, columns, rows }: Table): string {
  const cells = [columns.map(({ title }) => escapeMarkdown(title)), ...rows.map((row) => row.map(escapeMarkdown))]
  const widths = columns.map((_, index) => Math.max(4, ...cells.map((row) => row[index]?.length ?? 0)))
  const toLine = (row: readonly string[]) =>
    `| ${row.map((cell, n) => (columns[n]?.isNumber ? cell.padStart(widths[n] ?? 0) : cell.padEnd(widths[n] ?? 0))).join(' | ')} |`
  const rule = columns.map(({ isNumber }, n) => `${'-'.repeat((widths[n] ?? 4) - 1)}${isNumber ? ':' : '-'}`)
  const [header = [], ...body] = cells
  return [`**${escapeMarkdown(caption)}**`, '', toLine(header), `| ${rule.join(' | ')} |`, ...body.map(toLine)].join(
    '\n',
  )
}

/**
 * Text that shows as it is: on one line, without markup, HTML, links, formulas or mentions. Nothing of a report is at the
 * start of a line but titles and sentences of our own.
 */
export function escapeMarkdown(text: string): string {
  return toPrintable(text.toWellFormed())
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/@/g, '&commat;')
    .replace(/[\\`*_[\]|~#!$^]/g, '\\$&')
    .replace(/:\/\//g, '\\://')
    .replace(/\bwww\./gi, (www) => `${www.slice(0, 3)}\\.`)
}
