/** Ends the output of a test run with one line: `N passed, N failed`. */
import type { Reporter, TestModule } from 'vitest/node'

export default function summaryReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const states = modules.flatMap((module) =>
        [...module.children.allTests()].map((test) => test.result().state),
      )
      const passed = states.filter((state) => state === 'passed').length
      const failed =
        states.filter((state) => state === 'failed').length + modules.filter(isBroken).length
      process.stdout.write(`\n${passed} passed, ${failed + unhandledErrors.length} failed\n`)
    },
  }
}

/**
 * A file that could not be loaded, or whose hooks failed, counts as failed although none of its
 * tests has.
 */
function isBroken(module: TestModule): boolean {
  return module.errors().length > 0
}
