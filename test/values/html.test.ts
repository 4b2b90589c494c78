/**
 * Whatever text a page shows, it stays text; and a template that could not promise this is refused.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { path, withQuery } from '../../src/values/address.ts'
import { attribute, escapeHtml, type Html, html, trusted } from '../../src/values/html.ts'

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '<',
    '>',
    '"',
    "'",
    '&',
    '`',
    '=',
    '/',
    '\0',
    '\n',
    '</script>',
    '<!--',
    ']]>',
    '&lt;',
    '\ud800',
  ),
  fc.constantFrom(
    '<img src=x onerror=alert(1)>',
    '" onload="alert(1)',
    'javascript:alert(1)',
    '\u202etxt.exe',
  ),
)
const hostileText = fc.array(hostile, { maxLength: 6 }).map((parts) => parts.join(''))

/** What a browser reads in its place: nothing that ends a text or a quoted value. */
const harmless = /^(?:[^<>"'&]|&(?:amp|lt|gt|quot|#39);)*$/

test('no text contains anything that would end its place', () => {
  fc.assert(fc.property(hostileText, (text) => harmless.test(escapeHtml(text))))
})

test('a page has the elements and attributes of its template, whatever its values are', () => {
  const render = (text: string) =>
    html`<p title="${text}" ${attribute('data-name', text)}>${text}<a href="${text}">${[text, html`<b>${text}</b>`]}</a></p>`
  const shape = ({ html: markup }: Html) =>
    markup.replace(/"[^"]*"/g, '""').replace(/>[^<]*</g, '><')
  fc.assert(fc.property(hostileText, (text) => shape(render(text)) === shape(render('x'))))
})

test('text is escaped, and markup is not', () => {
  const inner = html`<b>${'<i>'}</b>`
  expect(html`<p title="${'"'}">${[inner, inner]}${3}${null}</p>`).toEqual({
    html: '<p title="&quot;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b>3</p>',
  })
})

test('an object of the same shape, as JSON in a database may have it, is no markup', () => {
  const stored = JSON.parse('{"html": "<b>x</b>"}')
  expect(() => html`<p>${stored}</p>`).toThrow('made here')
  expect(() => html`<p>${[stored]}</p>`).toThrow('made here')
  expect(() => html`<p ${JSON.parse('{"attribute": "onclick=x"}')}></p>`).toThrow('within a tag')
})

describe('links lead to this server or to the web', () => {
  test.each(['/console?a=b#c', '?a=b', '#c', 'https://example.com', 'http://example.com'])(
    '%s',
    (link) => {
      expect(html`<a href="${link}">x</a>`.html).toBe(`<a href="${link}">x</a>`)
    },
  )
  test.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    '//evil.example',
    '/\\evil.example',
    'vbscript:x',
    '',
  ])('%j becomes #', (link) => {
    expect(html`<a href="${link}">x</a>`.html).toBe('<a href="#">x</a>')
  })
})

test('an attribute that has no value is left out', () => {
  const tag = (value: string | boolean | null) =>
    html`<i ${attribute('aria-current', value)}></i>`.html
  expect([tag('page'), tag(true), tag(false), tag(null)]).toEqual([
    '<i aria-current="page"></i>',
    '<i aria-current></i>',
    '<i ></i>',
    '<i ></i>',
  ])
})

describe('a template is refused if a value', () => {
  const text = 'x'
  const wrong: Readonly<Record<string, () => Html>> = {
    'has no quotes': () => html`<a href=${text}>x</a>`,
    'has single quotes': () => html`<a href='${text}'>x</a>`,
    'is a handler': () => html`<a onclick="${text}">x</a>`,
    'is a style': () => html`<a style="${text}">x</a>`,
    'is a document': () => html`<iframe srcdoc="${text}"></iframe>`,
    'is within a script': () => html`<script>${text}</script>`,
    'is within a style sheet': () => html`<style>${text}</style>`,
    'is within a comment': () => html`<!-- ${text} -->`,
    'is the name of an element': () => html`<${text}>x</p>`,
    'is text between attributes': () => html`<a ${text}>x</a>`,
    'is markup in an attribute': () => html`<a title="${html`<b></b>`}">x</a>`,
    'is an attribute outside of a tag': () => html`<p>${attribute('hidden', true)}</p>`,
    'is an attribute without a space before it': () => html`<a${attribute('hidden', true)}>x</a>`,
    'stands in an unfinished tag': () => html`<p ${attribute('hidden', true)}`,
  }
  test.each(Object.entries(wrong))('%s', (_, render) => {
    expect(render).toThrow(Error)
  })
  test.each(['onclick', 'style', 'href', 'src', 'a b', 'x"'])('has the attribute %s', (name) => {
    expect(() => attribute(name, 'x')).toThrow('only a template may write')
  })
})

test('markup of our own is written as it is', () => {
  expect(html`${trusted('<style>p{}</style>')}`.html).toBe('<style>p{}</style>')
})

test('a name in an address stays one segment', () => {
  const names = ['a/b', '..', '?x', '%2e', 'ä b', '\ud800']
  expect(names.map((name) => path`/console/p/${name}/runs`)).toEqual([
    '/console/p/a%2Fb/runs',
    '/console/p/~~2e~2e/runs',
    '/console/p/%3Fx/runs',
    '/console/p/%252e/runs',
    '/console/p/%C3%A4%20b/runs',
    '/console/p/%EF%BF%BD/runs',
  ])
  expect(withQuery('/x', { q: 'a&b', before: null })).toBe('/x?q=a%26b')
  expect(withQuery('/x', { q: null })).toBe('/x')
})
