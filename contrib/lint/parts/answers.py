"""Whether Python waits for an answer to whatever it sends on a socket, before it sends again.

Functions, and what the module itself does, are followed in the order of their text. Counted is how many sends are not answered yet:
one or none. A call of a function that is followed counts as what that function does. Of two branches the one that leaves more
unanswered counts; a loop is gone through twice, so that what it sends at its end meets what it sends at its beginning. What one
function leaves unanswered meets what the others begin with.
"""

import ast
import re

SENDS = {"send", "sendall", "sendmsg"}
READS = {"recv", "recv_into", "recvmsg", "recvfrom", "readline", "readinto", "read"}
# What has these reads may be a file of the disk.
OF_FILES = {"readline", "readinto", "read"}
OF_SOCKETS = re.compile(r"(?i)sock|conn|rfile|stream|reader|client|transport|channel|tcp|^(self|s|sf|io)$")
# A function of elsewhere that is handed a socket, by its name.
SENDS_BY_NAME = re.compile(r"(^|_)(send|write)")
READS_BY_NAME = re.compile(r"(^|_)(recv|receive|read)")
# Nobody waits for what goes before the end, and nothing has been sent on a connection that is new.
ENDS = {"close", "shutdown", "create_connection", "socket", "accept", "connect", "connect_ex"}
THREADS = re.compile(r"\bthreading\b|\bThread\b")
# What others hand to a socket's file, or to asyncio, is not followed.
BEYOND = {"makefile", "StreamWriter", "create_server", "start_server"}


def are_awaited(text, line):
    """Whether each function that others may call has an answer to what it sends before any of them sends again: of the family of the
    class around a line, if that class sends, or else of the module. False where something is used that is not followed, or nothing
    that is followed sends, or where it is too deep to be followed."""
    try:
        tree = ast.parse(text)
        return any(one.is_awaited() for one in (Module.of_class(tree, line), Module.of_all(tree)) if one and one.sends())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def are_apart(text, line):
    """Whether something reads what is answered, no function sends twice before it reads, and no thread is seen: then it is up to
    who calls them. False where something is used that is not followed."""
    if THREADS.search(text):
        return False
    try:
        tree = ast.parse(text)
        modules = [one for one in (Module.of_class(tree, line), Module.of_all(tree)) if one]
        return not any(one.hands_on or one.called & BEYOND or one.sends_in_a_row() for one in modules) and any(one.reads() for one in modules)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def is_only_read(text, line):
    """Whether the socket that a line opens is read, and neither sent on nor handed on, by its names in the module."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    functions = [node for node in ast.walk(tree) if is_function(node)]
    kept = kept_at(tree, line)
    names = aliases(kept, [tree]) if kept else set()
    made = {id(value) for node in ast.walk(tree) if isinstance(node, ast.Assign) for value in ast.walk(node.value)}
    reads = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if receiver(node) in names:
                reads |= name_of(node) in READS
                if name_of(node) in SENDS or name_of(node) in BEYOND:
                    return False
            elif id(node) not in made and names & {named(one) for one in node.args}:
                return False
        elif isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and names & {named(one) for one in ast.walk(node.value)}:
            return False
    return reads and bool(functions)


class Module:
    """The functions that are followed together, and the statements outside of them. With names of attributes that are other
    sockets, what is done to these is not counted."""

    def __init__(self, functions, body, others=frozenset(), is_handler=False):
        self.functions, self.body, self.others, self.is_handler = {}, body, others, is_handler
        for node in functions:
            self.functions.setdefault(node.name, []).append(node)
        nodes = [node for function in functions for node in ast.walk(function)] + [node for one in body for node in ast.walk(one)]
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        called = {id(call.func) for call in self.calls}
        # A method that is handed to others to be called.
        self.hands_on = any(isinstance(node, ast.Attribute) and node.attr in SENDS and id(node) not in called for node in nodes)
        # An object of elsewhere that writes on it.
        self.hands_on |= any((name_of(call) or "")[:1].isupper() and "wfile" in map(named, call.args) for call in self.calls)
        self.called = {name_of(call) for call in self.calls} - {None}
        self.has_sent, self.sends_twice, self.known, self.left = False, False, {}, []

    @classmethod
    def of_all(cls, tree):
        return cls([node for node in ast.walk(tree) if is_function(node)], tree.body)

    @classmethod
    def of_class(cls, tree, line):
        """Returns the class around a line, with those of the module that it is made from or that are made from it; None outside of any."""
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        around = [node for node in classes if node.lineno <= line <= node.end_lineno]
        if not around:
            return None
        family = kin(around[-1], classes)
        functions = [node for one in family for node in ast.walk(one) if is_function(node)]
        kept = kept_at(around[-1], line)
        others = attributes_used(functions) - aliases(kept, functions) if kept else frozenset()
        if not others < attributes_used(functions):
            others = frozenset()
        bases = {name for one in family for name in bases_of(one)}
        return cls(functions, [], others, bool(bases & {"StreamRequestHandler", "BaseHTTPRequestHandler"}))

    def sends(self):
        return any(self.is_send(call) for call in self.calls)

    def is_awaited(self):
        if self.called & BEYOND or self.hands_on:
            return False
        self.of_block(self.body, 0)
        public = [name for name in self.functions if not name.startswith("_") or name.startswith("__") or name not in self.called]
        if any([self.after(name, 0) for name in public]):
            for name in public:
                self.after(name, 1)
        return self.has_sent and not self.sends_twice

    def sends_in_a_row(self):
        """Whether a function, with those that it calls, sends twice before it reads, or waits for an answer only on one of its ways."""
        self.of_block(self.body, 0)
        left = [name for name in self.functions if self.after(name, 0)]
        return self.sends_twice or any(self.waits_at_times(node) for name in left for node in self.functions[name])

    def waits_at_times(self, function):
        """Whether a function that leaves something unanswered also reads after it has sent."""
        calls = list(in_order(function))
        sent = next((at for at, call in enumerate(calls) if self.is_send(call)), len(calls))
        return any(self.is_read(call) for call in calls[sent:])

    def reads(self):
        return any(self.is_read(call) for call in self.calls)

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
        if is_function(node):
            return state
        if isinstance(node, ast.ClassDef):
            return self.of_block(node.body, state)
        if isinstance(node, ast.If):
            state = self.of_calls(node.test, state)
            return worse(self.of_block(node.body, state), self.of_block(node.orelse, state))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            state = self.of_calls(node.iter if hasattr(node, "iter") else node.test, state)
            for _ in range(1 if sends_the_rest(node) else 2):
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
            elif self.is_send(call):
                self.has_sent = True
                self.sends_twice |= state > 0
                state = 1
            elif name in ENDS or self.is_read(call):
                state = 0
        return state

    def is_send(self, call):
        name, on = name_of(call), receiver(call)
        if name == "write" and on == "wfile" or self.is_handler and name in ("end_headers", "send_error"):
            return True
        return name in SENDS and on not in self.others or bool(SENDS_BY_NAME.search(name or "")) and self.is_handed(call)

    def is_read(self, call):
        name, on = name_of(call), receiver(call)
        if name in READS:
            return on not in self.others and (name not in OF_FILES or bool(OF_SOCKETS.search(on or "")))
        return bool(READS_BY_NAME.search(name or "")) and self.is_handed(call)

    def is_handed(self, call):
        """Whether a function that is not followed gets a socket, by its name."""
        return name_of(call) not in self.functions and any(OF_SOCKETS.search(name) for one in call.args if (name := named(one)) not in (None, "self", *self.others))


def is_function(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def sends_the_rest(loop):
    """Whether a loop looks at how much a `send` took: then it sends one message, which is there as a whole."""
    kept = [node.value for node in ast.walk(loop) if isinstance(node, (ast.Assign, ast.AugAssign))]
    return any(isinstance(node, ast.Call) and name_of(node) == "send" for value in kept for node in ast.walk(value))


def kin(one, classes):
    """The class with those that it is made from or that are made from it."""
    family, names = [one], {one.name, *bases_of(one)}
    while more := [other for other in classes if other not in family and (other.name in names or set(bases_of(other)) & {each.name for each in family})]:
        family += more
        names |= {name for other in more for name in bases_of(other)}
    return family


def bases_of(node):
    return [base.attr if isinstance(base, ast.Attribute) else base.id for base in node.bases if isinstance(base, (ast.Attribute, ast.Name))]


def kept_at(around, line):
    """Returns the name of the attribute or the variable that the statement of a line gives a socket to."""
    for node in ast.walk(around):
        if isinstance(node, ast.Assign) and node.lineno <= line <= node.end_lineno:
            target = node.targets[0]
            target = target.elts[0] if isinstance(target, ast.Tuple) else target
            return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", None)
    return None


def aliases(name, functions):
    """The names that a socket gets in functions by plain assignments, or by what is made of it (TLS)."""
    names = {name}
    assignments = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Assign)]
    for _ in range(3):
        for node in assignments:
            said = {each for value in ast.walk(node.value) if (each := named(value))}
            for target in node.targets:
                if (said & names or named(target) in names) and (made := named(target)):
                    names |= {made, *(said if isinstance(node.value, (ast.Name, ast.Attribute)) else ())}
    return names


def attributes_used(functions):
    """The attributes of objects that functions send or read on."""
    calls = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)]
    return frozenset(call.func.value.attr for call in calls
                     if name_of(call) in SENDS | READS and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Attribute))


def named(node):
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def in_order(node):
    """The calls of an expression or a simple statement, as they are carried out: arguments before the call that takes them."""
    for child in ast.iter_child_nodes(node):
        yield from in_order(child)
    if isinstance(node, ast.Call):
        yield node


def name_of(call):
    return named(call.func)


def receiver(call):
    """The last name of what a method is called on."""
    return named(call.func.value) if isinstance(call.func, ast.Attribute) else None


def is_own(call):
    """Whether it calls a function by its bare name, or a method of the object itself."""
    return isinstance(call.func, ast.Name) or isinstance(call.func.value, ast.Name) and call.func.value.id in ("self", "cls")


def worse(one, other):
    states = [state for state in (one, other) if state is not None]
    return max(states) if states else None
