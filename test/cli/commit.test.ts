/** The commit of a program is the one that git names, in every form that git keeps it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commitFile, readCommit } from '../../src/cli/commit.ts'
import { createTempFolder } from '../support/temp-folder.ts'

const author = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com']

test('in a checkout by its branch, alone, packed, and of a further work tree; in a package by its file', () => {
  const folder = createTempFolder()
  const tree = join(createTempFolder(), 'tree')
  const git = (...args: readonly string[]) =>
    execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8' }).trim()
  expect(readCommit(folder, false)).toBe(null)
  git('init', '-q')
  expect(readCommit(folder, false)).toBe(null)
  git('commit', '-q', '--allow-empty', '-m', 'One')
  const first = git('rev-parse', 'HEAD').slice(0, 12)
  expect(readCommit(folder, false)).toBe(first)
  git('worktree', 'add', '-q', '-b', 'a/branch', tree)
  execFileSync('git', [...author, 'commit', '-q', '--allow-empty', '-m', 'Two'], { cwd: tree })
  const second = git('rev-parse', 'a/branch').slice(0, 12)
  expect(second).not.toBe(first)
  const both = () => [readCommit(folder, false), readCommit(tree, false)]
  expect(both()).toEqual([first, second])
  git('pack-refs', '--all')
  expect(both()).toEqual([first, second])
  git('checkout', '-q', '--detach')
  expect(readCommit(folder, false)).toBe(first)
  mkdirSync(join(folder, 'dist'))
  writeFileSync(join(folder, commitFile), `${second}\n`)
  expect([readCommit(folder, false), readCommit(folder, true)]).toEqual([first, second])
  writeFileSync(join(folder, commitFile), '\n')
  expect(readCommit(folder, true)).toBe(first)
})
