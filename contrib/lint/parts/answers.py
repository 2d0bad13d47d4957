"""Whether a module of Python waits for an answer to whatever it sends, before it sends again.

A function, and what the module itself does, is followed in the order of its text. It counts how many sends are not answered yet:
one or none. A call of a function of the same module counts as what that function does. Of two branches the one that leaves more
unanswered counts; a loop is gone through twice, so that what it sends at its end meets what it sends at its beginning.
"""

import ast

SENDS = {"send", "sendall", "sendmsg"}
READS = {"recv", "recv_into", "recvmsg", "readline", "readinto", "read"}
# Nobody waits for what goes before the end.
ENDS = {"close", "shutdown"}
# What others hand to a socket's file, or to asyncio, is not followed.
BEYOND = {"makefile", "StreamWriter", "create_server", "start_server", "Thread"}


def are_awaited(text):
    """Whether the module itself and each function that others may call has an answer to all that it sends, and none sends twice without
    one. False where something is used that is not followed, or nothing that is followed sends, or where it is
    too deep to be followed."""
    try:
        module = Module(ast.parse(text))
        if module.called & BEYOND:
            return False
        public = [name for name in module.functions if not name.startswith("_") or name not in module.called]
        ends = [module.of_block(module.body, 0), *(module.after(name, 0) for name in public)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return module.sends and not module.sends_twice and not any(ends)


class Module:
    def __init__(self, tree):
        self.functions = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, []).append(node)
        self.called = {name_of(node) for node in ast.walk(tree) if isinstance(node, ast.Call)} - {None}
        self.body = tree.body
        self.sends, self.sends_twice, self.known, self.left = False, False, {}, []

    def after(self, name, unanswered):
        """How many sends are unanswered after a call of the function, of those that bear the name the worst."""
        key = name, unanswered
        if key not in self.known:
            # One that calls itself adds nothing.
            self.known[key] = unanswered
            self.known[key] = max(self.of_function(node, unanswered) for node in self.functions[name])
        return self.known[key]

    def of_function(self, node, unanswered):
        before, self.left = self.left, []
        # Where it ends by its last line, not by a return.
        end = self.of_block(node.body, unanswered)
        left, self.left = [*self.left, end], before
        return max(state for state in left if state is not None) if any(state is not None for state in left) else 0

    def of_block(self, body, unanswered):
        """Returns the state after the statements; None if they are left for good."""
        for statement in body:
            unanswered = self.of_statement(statement, unanswered)
            if unanswered is None:
                break
        return unanswered

    def of_statement(self, node, state):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return state
        if isinstance(node, ast.ClassDef):
            return self.of_block(node.body, state)
        if isinstance(node, ast.If):
            state = self.of_calls(node.test, state)
            return worse(self.of_block(node.body, state), self.of_block(node.orelse, state))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            state = self.of_calls(node.iter if hasattr(node, "iter") else node.test, state)
            for _ in range(2):
                after = self.of_block(node.body, state)
                state = state if after is None else after
            return self.of_block(node.orelse, state)
        if isinstance(node, ast.Try):
            # What follows an error is a connection that is lost, or an answer.
            handled = [self.of_block(handler.body, 0) for handler in node.handlers]
            state = self.of_block([*node.body, *node.orelse], state)
            for one in handled:
                state = worse(state, one)
            return state if state is None else self.of_block(node.finalbody, state)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                state = self.of_calls(item.context_expr, state)
            return self.of_block(node.body, state)
        state = self.of_calls(node, state)
        if isinstance(node, ast.Return):
            self.left.append(state)
        return None if isinstance(node, (ast.Return, ast.Raise)) else state

    def of_calls(self, node, state):
        for call in in_order(node):
            name = name_of(call)
            if name in self.functions and (is_own(call) or name not in SENDS | READS | ENDS):
                state = self.after(name, state)
            elif name in SENDS:
                self.sends = True
                self.sends_twice |= state > 0
                state = 1
            elif name in READS | ENDS:
                state = 0
        return state


def in_order(node):
    """The calls of an expression or a simple statement, as they are carried out: arguments before the call that takes them."""
    for child in ast.iter_child_nodes(node):
        yield from in_order(child)
    if isinstance(node, ast.Call):
        yield node


def name_of(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else None


def is_own(call):
    """Whether it calls a function by its bare name, or a method of the object itself."""
    return isinstance(call.func, ast.Name) or isinstance(call.func.value, ast.Name) and call.func.value.id in ("self", "cls")


def worse(one, other):
    states = [state for state in (one, other) if state is not None]
    return max(states) if states else None
